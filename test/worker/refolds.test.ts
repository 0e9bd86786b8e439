import { createLog } from '../../src/common/log.ts';
import { families } from '../../src/families/index.ts';
import { createLeases, type Leases } from '../../src/store/lease.ts';
import { keepHeartbeat } from '../../src/worker/heartbeat.ts';
import { createRefolds } from '../../src/worker/refolds.ts';
import { receiptCallback } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { apply } from '../support/deliveries.ts';
import { until } from '../support/until.ts';

const database = useDatabase({ per: 'test' });
let leases: Leases;
beforeEach(() => {
  leases = createLeases(database.db);
});
afterEach(() => leases.close());

const state = async () =>
  (
    await database.rows(
      'select records::int, changed::int, completed_at is not null as done, former_at from refolds',
    )
  )[0]!;
const lean = async () =>
  Number((await database.rows('select count(*) from receipts where name is null'))[0]!.count);

/** Receipts whose last update lacked nearly everything, as a worker of a former version wrote them. */
async function writeFormerly(count: number): Promise<void> {
  await apply(
    database,
    Array.from({ length: count }, (_, index) => index + 1).flatMap((receipt_id) => [
      receiptCallback({ data: { receipt_id } }),
      {
        ...receiptCallback({ event: 'receipt.updated', event_time: 1_700_000_009 }),
        data: { receipt_id, amount_paid: 1 },
      },
    ]),
  );
  await database.rows(`update receipts set carried = null, name = null, net_amount = null;
    update refolds set completed_at = null`);
}

it('a worker makes rows of a former version anew after an upgrade, and ends at once when it is stopped', async () => {
  await writeFormerly(230);
  const stopping = new AbortController();
  const dependencies = { db: database.db, families, leases, log: createLog('silent') };
  const running = createRefolds(dependencies, stopping.signal)();
  await until(async () => (await state()).changed === 200);
  const stopped = performance.now();
  stopping.abort();
  await running;
  expect(performance.now() - stopped).toBeLessThan(1_000);
  expect([await lean(), (await state()).done]).toEqual([30, false]);

  await createRefolds(dependencies, new AbortController().signal)();
  expect(await state()).toMatchObject({ records: 230, changed: 230, done: true });
  expect(await lean()).toBe(0);
});

it('a worker of a former version makes a pass due, one of this version does not', async () => {
  const heartbeat = keepHeartbeat(database.db, families);
  await heartbeat.beat();
  expect((await state()).former_at).toBeNull();
  await database.rows(
    `insert into workers (id, families, seen_at, uses_leases) values (gen_random_uuid(), '{}', now(), true)`,
  );
  expect((await state()).former_at).not.toBeNull();
  // It has ended, and took its row away.
  await database.rows(`delete from workers; update refolds set former_at = now() - interval '61 seconds'`);
  await createRefolds(
    { db: database.db, families, leases, log: createLog('silent') },
    new AbortController().signal,
  )();
  expect(await database.rows('select began_at > former_at as later from refolds')).toEqual([{ later: true }]);
});

it('a pace of a hundred records a second: the pause after a step is as long as it has changed records', async () => {
  await writeFormerly(101);
  const began = performance.now();
  await createRefolds(
    { db: database.db, families, leases, log: createLog('silent') },
    new AbortController().signal,
  )();
  expect(performance.now() - began).toBeGreaterThan(1_000);
});
