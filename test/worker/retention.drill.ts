import { createLog } from '../../src/common/log.ts';
import { families } from '../../src/families/index.ts';
import { callbacks } from '../../src/sandbox/callbacks.ts';
import { createLeases } from '../../src/store/lease.ts';
import { createRetention } from '../../src/worker/deletions.ts';
import { newestVersions } from '../chaos/model.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { apply } from '../support/deliveries.ts';
import { post, useService } from '../support/service.ts';
import { until } from '../support/until.ts';

const log = createLog('silent');
const dayMs = 24 * 60 * 60 * 1000;
const { database, start } = useService({ per: 'test' });

const createPass = (
  retained: () => void,
  retention: Record<string, number>,
  signal = new AbortController().signal,
) =>
  createRetention(
    {
      db: database.db,
      families,
      config: { retention },
      leases: createLeases(database.db),
      log,
      onRetained: retained,
    },
    signal,
  );

it('a worker deletes what is expired when it starts, and receivers do not take it again', async () => {
  const old = receiptCallback();
  await apply(database, [old]);
  const { url } = await start({ retention: { receipt: dayMs } });
  await until(async () => (await database.rows('select 1 from inbox')).length === 0);
  expect(await (await post(url + paths.receipt, old)).json()).toMatchObject({ status: 'expired' });
  expect(await database.rows('select 1 from receipts')).toEqual([]);
  const logged = await until(async () => (await database.rows('select actor, action from access_log'))[0]);
  expect(logged).toEqual({ actor: 'worker', action: 'retention' });
});

it('of two workers one passes at a time, and a pass that was run is not due for a day', async () => {
  await apply(database, [receiptCallback()]);
  let passes = 0;
  const first = createPass(() => void passes++, { receipt: dayMs });
  const second = createPass(() => void passes++, { receipt: dayMs });
  await createLeases(database.db).run('retention', async () => {
    await Promise.all([first(), second()]);
    expect(passes).toBe(0);
    expect(await database.rows('select 1 from inbox')).toHaveLength(1);
  });
  await first();
  expect(passes).toBe(1);
  expect(await database.rows('select 1 from inbox')).toEqual([]);
  await first();
  expect(passes).toBe(1);
});

it('a pass ends between two steps when the worker stops, and the next one continues', async () => {
  await apply(
    database,
    Array.from({ length: 1_200 }, (_, index) => receiptCallback({ data: { receipt_id: index } })),
  );
  const stopping = new AbortController();
  const aborting = createLog('info', { write: () => stopping.abort() });
  const pass = createRetention(
    {
      db: database.db,
      families,
      config: { retention: { receipt: dayMs } },
      leases: createLeases(database.db),
      log: aborting,
    },
    stopping.signal,
  );
  await expect(pass()).rejects.toThrow('aborted');
  const left = (await database.rows('select 1 from inbox')).length;
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThan(1_200);
  let passes = 0;
  await createPass(() => void passes++, { receipt: dayMs })();
  expect([passes, await database.rows('select 1 from receipts')]).toEqual([1, []]);
});

it('while passes run, receivers and workers end in the rows of the callbacks within retention', async () => {
  const [old, recent] = [Date.now() - 40 * dayMs, Date.now() - 9 * dayMs];
  const expired = [...callbacks({ seed: 1, start: old, count: 1_500 })];
  const kept = [...callbacks({ seed: 1, start: recent, count: 1_500 })];
  const retention = { receipt: 20 * dayMs, consent_form: 20 * dayMs, review_request: 20 * dayMs };
  // Receivers without retention: their callbacks expire while they are being applied.
  const service = await start({});
  let isSending = true;
  const passing = (async () => {
    while (isSending) await createPass(() => {}, retention)();
  })();
  const queue = expired.flatMap((callback, index) => [callback, kept[index]!]);
  const send = async () => {
    for (let next = queue.pop(); next; next = queue.pop()) {
      const path = paths[next.family as keyof typeof paths];
      const { body } = next;
      // A sender repeats what a busy machine did not store in time.
      await until(async () => {
        const { status } = await post(service.url + path, body);
        expect([200, 503]).toContain(status);
        return status === 200;
      });
    }
  };
  try {
    await Promise.all(Array.from({ length: 32 }, send));
    await until(async () => (await database.rows('select 1 from pending_deliveries')).length === 0);
  } finally {
    isSending = false;
    await passing;
  }
  await createPass(() => {}, retention)();

  const rows = await database.rows(`
    select 'receipt ' || business_id || ' ' || receipt_id as key, delivery_id as id from receipts
    union all select 'consent_form ' || business_id || ' ' || id, delivery_id from consent_forms
    union all select 'review_request ' || delivery_id, delivery_id from review_requests`);
  expect(new Map(rows.map(({ key, id }) => [key, id]))).toEqual(newestVersions(kept));
  expect(await database.rows('select 1 from inbox')).toHaveLength(kept.length);
  expect(await database.rows('select 1 from failed_deliveries')).toEqual([]);
});
