import { connect } from 'node:net';
import { clear } from '../../support/deliveries.ts';
import { until } from '../../support/until.ts';
import { useConsole } from '../use-console.ts';
import { adminToken, signInTo } from '../visitor.ts';
import { parseCsv } from './read-files.ts';

const { database, visitor, startAnother } = useConsole();
beforeEach(() => clear(database));

it('a stalled download is aborted, and its connection and transaction are released', async () => {
  const { url } = await startAnother({ adminToken, downloads: { stalledMs: 400, totalMs: 60_000 } });
  const { cookie, get } = await signInTo(url);
  await database.pool.query(
    `insert into review_requests (business_id, doctor_id, client_id, last_event, event_time, extra, delivery_id)
     select 'b', lpad(n::text, 2000, 'd'), 'c', 'e', now(), '{}', gen_random_uuid() from generate_series(1, 20000) as n`,
  );
  const connections = (condition = 'true') =>
    database.rows(
      `select 1 from pg_stat_activity where datname = current_database() and application_name = 'receiver download'
       and ${condition}`,
    );
  const stalled = [1, 2].map(() => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
    const path = '/console/reports/review_requests/csv';
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\n\r\n`);
    return socket;
  });
  await until(async () => (await connections('backend_xmin is not null')).length === 2);
  await until(async () => (await connections()).length === 0);
  const response = await get('/reports/review_requests/csv');
  expect([response.status, (await response.text()).split('\r\n').length]).toEqual([200, 20_002]);
  for (const socket of stalled) socket.destroy();
});

it('a download of many rows is streamed: it begins before they have all been read', async () => {
  await database.pool.query(
    `insert into review_requests (business_id, doctor_id, client_id, last_event, event_time, extra, delivery_id)
     select 'b', lpad(n::text, 2000, 'd'), 'c', 'e', now(), '{}', gen_random_uuid() from generate_series(1, 20000) as n`,
  );
  const response = await visitor.get('/reports/review_requests/csv');
  const reader = response.body!.getReader();
  expect((await reader.read()).value!.length).toBeGreaterThan(0);
  const busy = () =>
    database.rows(
      `select 1 from pg_stat_activity where application_name = 'receiver download' and state = 'active'`,
    );
  expect(await busy()).toHaveLength(1);
  await reader.cancel();
  const whole = await (await visitor.get('/reports/review_requests/csv')).text();
  expect(parseCsv(whole)).toHaveLength(20_001);
});
