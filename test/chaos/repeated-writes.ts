/** Runs a statement, and returns its rows. */
type Rows = (query: string) => Promise<Record<string, unknown>[]>;

const tables = ['receipts', 'consent_forms', 'review_requests'];

/** Notes each write of a row of these tables, in a table of its own. May be repeated. */
export async function noteWrites(rows: Rows): Promise<void> {
  await rows('create table if not exists writes (delivery_id uuid, content jsonb)');
  await rows(`create or replace function note() returns trigger language plpgsql as
    $$ begin insert into writes values (new.delivery_id, to_jsonb(new) - 'applied_at'); return new; end $$`);
  for (const table of tables) {
    await rows(
      `create or replace trigger note after insert or update on ${table} for each row execute function note()`,
    );
  }
}

/**
 * The noted writes that wrote what the same delivery had written: what was applied twice. An older version that says what a row
 * lacks writes it once more, with another content.
 */
export async function countRepeatedWrites(rows: Rows): Promise<number> {
  const [row] = await rows(
    'select (count(*) - count(distinct (delivery_id, content)))::int as n from writes',
  );
  return row!.n as number;
}
