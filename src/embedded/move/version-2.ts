import type pg from 'pg';
import type { Core } from '../../receiver/feature.ts';
import { gateLock } from '../../receiver/gate/gate.ts';
import { storedColumns } from '../../receiver/store/insert-deliveries.ts';
import { inTransaction } from '../../receiver/store/pools.ts';
import { type Copied, insertAccess, insertErased, insertInto, insertRejected, type Source } from './copy.ts';

const timeoutMs = 30_000;

const table = (name: string, from: string, options: Partial<Copied> = {}): Copied => ({
  ...{ name, from: `select * from ${from}`, into: insertInto(from), ...options },
});

const source: Source = {
  callbacks: `select ${storedColumns}, stored_at::text as "storedAt", coalesce(count, 0) as resends, coalesce(last_at, received_at) as "lastAt"
    from receiver.inbox left join receiver.resends using (id) order by id`,
  before: [
    table('hashes of erased people', 'receiver.erased', {
      ...{ into: insertErased('hash'), first: gateLock(timeoutMs) },
    }),
    // Not complete: callbacks that the target has already may belong to them.
    table('erasures', 'receiver.erasures', {
      from: `select (jsonb_populate_record(e, '{"completed_at": null}')).* from receiver.erasures e`,
    }),
    table('withheld callbacks', 'receiver.withheld'),
    table('holds', 'receiver.holds'),
  ],
  after: [
    table('quarantine', 'receiver.quarantine', { into: insertRejected }),
    table('aliases', 'receiver.aliases'),
    table('answered requests', 'receiver.answered'),
    table('access log', 'public.access_log', { into: insertAccess('subjects') }),
  ],
  left: `select count(*)::int, 'destinations: add them here, a copy sends nothing' as what from receiver.destinations
    union all select null, 'what its receivers have in Redis: their workers have to store it'`,
};

/**
 * A database of version 2. The target takes its salt, or the hashes of erased people would mean nobody.
 *
 * @throws Error where the target has hashes with another salt
 */
export async function openVersion2({ pool }: Core, client: pg.ClientBase): Promise<Source> {
  const { rows } = await client.query<{ identity: string; salt: string }>(
    `select (select value from receiver.settings where name = 'identity') as identity, value as salt
     from receiver.settings where name = 'salt'`,
  );
  const { identity, salt } = rows[0]!;
  await inTransaction(pool, gateLock(timeoutMs), async (target) => {
    const found = await target.query<{ isSame: boolean; isUnused: boolean | null }>(
      `select value = $1 as "isSame", value <> $1 and receiver.adopt_salt($2) as "isUnused"
       from receiver.settings where name = 'identity'`,
      [identity, salt],
    );
    const { isSame, isUnused } = found.rows[0]!;
    if (isSame) throw new Error('--from is this database, or a copy of it');
    if (!isUnused)
      throw new Error(
        'This database has erasures, holds or access log entries of patients of its own: move into a new one',
      );
  });
  return source;
}
