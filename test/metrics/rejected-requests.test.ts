import fc from 'fast-check';
import { createLog } from '../../src/common/log.ts';
import { families } from '../../src/families/index.ts';
import { countRejectedRequests } from '../../src/http/rejected-requests.ts';
import { type Service, startService } from '../../src/service/service.ts';
import { startTcpProxy } from '../chaos/tcp-proxy.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { post, startTestService, testConfig } from '../support/service.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
beforeEach(() => database.pool.query('delete from rejected_requests'));

const counted = async () =>
  (
    await database.rows(
      'select family, status, reason, sum(count)::int as n from rejected_requests group by 1, 2, 3 order by 1, 2, 3',
    )
  ).map(({ family, status, reason, n }) => `${n} ${family} ${status} ${reason}`);

const isClosed = { isOpen: false, probeAfter: async () => false };
const logged: string[] = [];
const log = createLog('info', { write: (line) => void logged.push(line) });
const open = () => countRejectedRequests(database.pool, isClosed, log);

it('receivers count their rejected requests together; scanners are apart', async () => {
  const services = await Promise.all(
    [1, 2].map(() => startTestService({ databaseUrl: database.url, role: 'receiver' })),
  );
  for (const { url } of services) {
    await post(url + paths.receipt, { ...receiptCallback(), event_time: 'x' });
    await post(url + paths.receipt, '<html>');
    await post(url + paths.consent_form, receiptCallback());
    await post(url + paths.receipt, receiptCallback());
    await fetch(`${url}/wp-login.php`);
  }
  await Promise.all(services.map((service) => service.stop()));
  expect(await counted()).toEqual([
    '2 consent_form 422 WrongFamily',
    '2 none 404 NotFound',
    '2 receipt 400 NotJson',
    '2 receipt 422 InvalidCallback',
  ]);
});

it('what was rejected while PostgreSQL was away is counted afterwards, without a further line of the log', async () => {
  const link = await startTcpProxy(Number(new URL(database.url).port));
  const url = Object.assign(new URL(database.url), { port: String(link.port) });
  const lines: string[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line).msg);
  const config = testConfig({ databaseUrl: url.href, role: 'receiver' });
  const service = (await startService(config, families, createLog('warn', { write }))) as Service & {
    url: string;
  };
  lines.length = 0;
  link.cut();
  const began = Date.now();
  for (const receipt_id of [1, 2, 3]) {
    const response = await post(service.url + paths.receipt, receiptCallback({ data: { receipt_id } }));
    expect(response.status).toBe(503);
  }
  const ended = Date.now();
  await link.restore();
  await until(async () => (await counted()).length > 0);
  expect(await counted()).toEqual(['3 receipt 503 Unavailable']);
  const minutes = (await database.rows('select minute from rejected_requests')) as { minute: Date }[];
  for (const { minute } of minutes) {
    expect(minute.getTime()).toBeGreaterThan(began - 60_000);
    expect(minute.getTime()).toBeLessThanOrEqual(ended);
  }
  await service.stop();
  await link.stop();
  expect(lines.filter((line) => line.includes('rejected requests'))).toEqual([]);
});

it('no count is lost or added twice, whichever receivers write at once', async () => {
  const request = fc.record({
    receiver: fc.nat(2),
    family: fc.constantFrom('receipt', 'consent_form'),
    status: fc.constantFrom(401, 403, 422, 503),
    flush: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 60 }), async (requests) => {
      await database.pool.query('delete from rejected_requests');
      const receivers = [open(), open(), open()];
      const writes = requests.map(({ receiver, family, status, flush }) => {
        receivers[receiver]!.observer.responded({ family, status, reason: 'A' });
        return flush ? receivers[receiver]!.flush() : undefined;
      });
      await Promise.all(writes);
      await Promise.all(receivers.map((receiver) => receiver.close()));
      const keys = requests.map(({ family, status }) => `${family} ${status} A`);
      const expected = [...new Set(keys)].map((key) => `${keys.filter((one) => one === key).length} ${key}`);
      expect((await counted()).sort()).toEqual(expected.sort());
    }),
    { numRuns: 25 },
  );
});

it('what cannot be written is logged once and kept, up to a limit', async () => {
  const counts = open();
  await database.pool.query('alter table rejected_requests rename to moved_away');
  for (const status of [401, 403]) {
    counts.observer.responded({ family: 'receipt', status, reason: 'A' });
    await counts.flush();
  }
  await database.pool.query('alter table moved_away rename to rejected_requests');
  for (let n = 0; n < 5_100; n += 1) counts.observer.unrouted({}, 404, `reason ${n}`);
  await counts.close();
  expect(logged.filter((line) => line.includes('cannot be written'))).toHaveLength(1);
  const lines = await counted();
  expect(lines).toEqual(expect.arrayContaining(['1 receipt 401 A', '1 receipt 403 A']));
  expect(lines).toHaveLength(5_000);
});

it('requests that succeed or are aborted are not counted, and what is older than a week is deleted', async () => {
  await database.pool.query(
    `insert into rejected_requests
     select now() - n * interval '1 day', 'receipt', 401, 'A', 1 from generate_series(6, 9) as n`,
  );
  const counts = open();
  counts.observer.responded({ family: 'receipt', status: 200 });
  counts.observer.responded({ family: 'receipt', status: 'aborted', reason: 'RequestAborted' });
  counts.observer.responded({ family: 'receipt', status: 429, reason: 'B' });
  await counts.close();
  expect(await counted()).toEqual(['1 receipt 401 A', '1 receipt 429 B']);
});
