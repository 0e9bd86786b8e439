import type pg from 'pg';
import type { Core } from '../../receiver/feature.ts';
import { gateLock } from '../../receiver/gate/gate.ts';
import { storedColumns } from '../../receiver/store/insert-deliveries.ts';
import { inTransaction } from '../../receiver/store/pools.ts';
import { insertAccess, insertInto, insertRejected, type RowCopy, type Source } from './copy.ts';

const copyOf = (name: string, table: string, insert = insertInto(table)): RowCopy => ({
  name,
  select: `select * from ${table}`,
  insert,
});

const insertErased = `
select from jsonb_to_recordset($1::jsonb) as r(hash text, until timestamptz, erasure uuid)
where receiver.gate(hash, until, erasure)`;

const source: Source = {
  callbacks: `select ${storedColumns}, stored_at::text as "storedAt" from receiver.inbox order by id`,
  rules: [
    copyOf('hashes of erased people', 'receiver.erased', insertErased),
    {
      name: 'erasures',
      // Not complete: they may concern callbacks of the target.
      select: `select (jsonb_populate_record(e, '{"completed_at": null}')).* from receiver.erasures e`,
      insert: insertInto('receiver.erasures'),
    },
    copyOf('withheld callbacks', 'receiver.withheld'),
    copyOf('holds', 'receiver.holds'),
  ],
  others: [
    copyOf('quarantine', 'receiver.quarantine', insertRejected),
    copyOf('aliases', 'receiver.aliases'),
    copyOf('access log', 'public.access_log', insertAccess('subjects')),
  ],
  losses: `select count(*)::int, 'destinations: add them here, a copy sends nothing' as what from receiver.destinations
    union all select null, 'what its receivers have in Redis: their workers have to store it'`,
};

/** The target takes its salt, or the hashes of erased people would mean nobody. @throws Error where it has others */
export async function openVersion2({ pool }: Core, client: pg.ClientBase): Promise<Source> {
  const { rows } = await client.query<{ identity: string; salt: string }>(
    `select (select value from receiver.settings where name = 'identity') as identity, value as salt
     from receiver.settings where name = 'salt'`,
  );
  const { identity, salt } = rows[0]!;
  await inTransaction(pool, gateLock(30_000), async (target) => {
    const { rows } = await target.query<{ isSame: boolean; isUnused: boolean | null }>(
      `select value = $1 as "isSame", value <> $1 and receiver.adopt_salt($2) as "isUnused"
       from receiver.settings where name = 'identity'`,
      [identity, salt],
    );
    const { isSame, isUnused } = rows[0]!;
    if (isSame) throw new Error('--from is this database, or a copy of it');
    if (!isUnused)
      throw new Error(
        'This database has erasures, holds or access log entries of patients of its own: move into a new one',
      );
  });
  return source;
}
