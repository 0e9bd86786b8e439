import fc from 'fast-check';
import { useDatabase } from '../support/database.ts';
import { openOverlapping } from './overlapping.ts';

const database = useDatabase({ per: 'test' });

/** Changes the text of the function that numbers changes. */
async function mutate(replacements: readonly (readonly [string, string])[]): Promise<void> {
  const [row] = await database.rows(
    `select pg_get_functiondef(oid) as text from pg_proc where proname = 'number_changes'`,
  );
  let text = row!.text as string;
  for (const [from, to] of replacements) {
    expect(text).toContain(from);
    text = text.replace(from, to);
  }
  await database.rows(text);
}

const fromSequence = `
  create sequence plain start 1000001;
  grant usage on sequence plain to public;
  create function number_at_once() returns trigger language plpgsql as $$
  begin
    insert into changes (position, kind, changed_at, families, business_ids, ids)
    values (nextval('plain'), new.kind, new.changed_at, new.families, new.business_ids, new.ids);
    return null;
  end $$;
  create trigger number_at_once before insert on changed_records for each row execute function number_at_once();`;

/** What would be wrong, each in a way of its own. */
const mistakes: Record<string, () => Promise<unknown>> = {
  'numbers of a sequence, drawn by whoever writes': () => database.rows(fromSequence),
  'a horizon that is one too high': () => mutate([['r.transaction >= case', 'r.transaction > case']]),
  'a horizon without the transactions that were in progress': () =>
    mutate([['r.transaction = any(array(select pg_snapshot_xip(last.seen)))', 'false']]),
  'positions that become visible in the reverse order': async () => {
    await database.rows(`create sequence plain start 1000000; grant usage on sequence plain to public`);
    await mutate([
      [
        "last.position + row_number() over (order by kind = 'changed', kind, part)",
        `(nextval('plain')::int # 1)`,
      ],
    ]);
  },
};

it.each(Object.keys(mistakes))('the property of exactness finds %s, each time', async (name) => {
  const { endsWithTheRows, close } = await openOverlapping(database);
  try {
    await mistakes[name]!();
    const found: number[] = []; // after how many runs
    for (let times = 0; times < 3; times += 1) {
      // The rarest is found by one run of five.
      const { failed, numRuns } = await fc.check(endsWithTheRows, { numRuns: 200, endOnFailure: true });
      found.push(failed ? numRuns : 0);
    }
    expect(found).not.toContain(0);
  } finally {
    await close();
  }
});
