import { sql } from 'kysely';
import { read } from './read.ts';
import type { Db } from './tables.ts';

/** Why PostgreSQL refused a delivery's data, in words, and what to do. */
export type Cause = Awaited<ReturnType<typeof readCauses>>[number];

const resent = 'If it is wrong, have the sender correct it: a newer version takes its place.';
const encoding = 'Use a database with the encoding UTF8.';

/** By SQLSTATE, or its class. */
const meanings: Record<string, [meaning: string, action: string]> = {
  22001: [
    'A text is longer than its column.',
    'If it is right, change the column’s type to text, and replay.',
  ],
  22003: [
    'A number is too large for its column.',
    `If it is right, change the column’s type to numeric, and replay. ${resent}`,
  ],
  22007: ['A value is not a time.', resent],
  22008: ['A time is out of range.', resent],
  22021: ['A text has a character that the database cannot store.', encoding],
  '22P02': ['A value has another type than its column, such as a text in place of a number.', resent],
  '22P05': ['A text has a character that the database cannot store.', encoding],
  22: ['PostgreSQL cannot store a value.', resent],
  23502: ['A required value is missing.', 'If it may be missing, drop the column’s “not null”, and replay.'],
  23503: ['It refers to a row that does not exist.', 'Add that row or drop the foreign key, and replay.'],
  23505: [
    'Another row has this value, which must be unique.',
    'Drop the constraint or that row, and replay.',
  ],
  23514: [
    'A value violates a check constraint.',
    'If the constraint is wrong, change or drop it, and replay.',
  ],
  23: ['A value violates a constraint.', 'Change or drop the constraint, and replay.'],
  54: ['A value is too large for PostgreSQL, or for an index.', 'Drop the index, and replay.'],
  P0: ['A trigger of the database raises an error for it.', 'Correct or drop the trigger, and replay.'],
  XX: ['PostgreSQL found damaged data.', 'Have the index or table repaired (reindex, restore), and replay.'],
};

/**
 * Explains texts of `deliveries.error`, which quote no value.
 *
 * @returns for each its meaning, the columns and the definition of the constraint, as far as they are known
 */
export async function readCauses(db: Db, errors: readonly string[]) {
  const placeOf = (error: string) => / \((\w+\.\w+)\)$/.exec(error)?.[1] ?? '';
  const { rows } = await sql<{ place: string; fields: string; definition: string }>`
    select concat(t.relname, '.', c.conname) as place, pg_get_constraintdef(c.oid) as definition,
           (select string_agg(attname, ', ' order by attnum) from pg_attribute
            where attrelid = t.oid and attnum = any(c.conkey)) as fields
    from pg_constraint c join pg_class t on t.oid = c.conrelid
    where t.relnamespace = current_schema()::regnamespace
      and concat(t.relname, '.', c.conname) = any(${errors.map(placeOf)}::text[])`.execute(db);
  return errors.map((error) => {
    const place = placeOf(error);
    const [meaning, action] = meanings[error.slice(0, 5)] ?? meanings[error.slice(0, 2)] ?? [];
    const { fields, definition } = rows.find((row) => row.place === place) ?? {};
    const column = error.startsWith('23502') ? place.split('.')[1] : undefined;
    return { error, meaning, action, fields: fields ?? column, definition };
  });
}

interface FailedGroup {
  family: string;
  event: string;
  error: string;
  count: number;
  first: Date;
  last: Date;
  /** How many were marked as seen. */
  seen: number;
}

/** Failed deliveries by cause, the most frequent first. */
export async function groupFailed(db: Db) {
  const groups = await read(
    db,
    sql<FailedGroup>`
      select family, event, coalesce(error, '') as error, count(*)::int as count,
             min(received_at) as first, max(received_at) as last,
             count(*) filter (where exists (select from seen_deliveries s where s.id = d.id))::int as seen
      from stated_deliveries d where status = 'failed'
      group by family, event, error
      order by count desc, last desc limit 200`,
  );
  const errors = groups.map(({ error }) => error);
  const causes = await readCauses(db, errors);
  return groups.map((group, index) => ({ ...group, cause: causes[index]! }));
}
