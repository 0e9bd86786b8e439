import { connect } from 'node:net';
import { formatNames } from '../../../src/reports/files/formats.ts';
import { clear } from '../../support/deliveries.ts';
import { until } from '../../support/until.ts';
import { useConsole } from '../use-console.ts';
import { adminToken, signInTo } from '../visitor.ts';
import { parseCsv } from './read-files.ts';

const { database, service, visitor, startAnother } = useConsole();
beforeEach(() => clear(database));

const makeReviewRequests = () =>
  database.pool.query(
    `insert into review_requests (business_id, doctor_id, client_id, last_event, event_time, extra, delivery_id)
     select 'b', lpad(n::text, 2000, 'd'), 'c', 'e', now(), '{}', gen_random_uuid() from generate_series(1, 20000) as n`,
  );

/** The connections of downloads. */
const downloading = (condition = 'true') =>
  database.rows(
    `select 1 from pg_stat_activity where datname = current_database() and application_name = 'receiver download'
     and (${condition})`,
  );

describe.each(formatNames)('a client that disconnects from a download as %s', (format) => {
  const request = () => {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1').on('error', () => {});
    const path = `/console/reports/review_requests/${format}`;
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nCookie: ${visitor.cookie}\r\n\r\n`);
    return socket;
  };
  const isReleased = () =>
    until(
      async () => (await downloading(`state like 'idle in transaction%' or state = 'active'`)).length === 0,
    );

  it('before the first byte releases the connection', async () => {
    const client = await database.pool.connect();
    await client.query('begin; lock table access_log in exclusive mode');
    const socket = request();
    // What is logged before the first byte waits.
    await until(async () => (await downloading(`state = 'idle in transaction'`)).length === 1);
    socket.resetAndDestroy();
    // The receiver learns of it before it answers this.
    await fetch(`${service.url}/healthz`);
    await client.query('commit');
    client.release();
    await isReleased();
  });

  it('midway releases the connection', async () => {
    await makeReviewRequests();
    const socket = request();
    await new Promise((resolve) => socket.once('data', resolve));
    socket.resetAndDestroy();
    await isReleased();
  });
});

it('a stalled download is aborted, and its connection and transaction are released', async () => {
  const { url } = await startAnother({ adminToken, downloads: { stalledMs: 4_000, totalMs: 60_000 } });
  const { cookie, get } = await signInTo(url);
  await makeReviewRequests();
  const stalled = [1, 2].map(() => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
    const path = '/console/reports/review_requests/csv';
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\n\r\n`);
    return socket;
  });
  await until(async () => (await downloading('backend_xmin is not null')).length === 2);
  await until(async () => (await downloading()).length === 0);
  const response = await get('/reports/review_requests/csv');
  expect([response.status, (await response.text()).split('\r\n').length]).toEqual([200, 20_002]);
  for (const socket of stalled) socket.destroy();
});

it('a download of many rows is streamed: it begins before they have all been read', async () => {
  await makeReviewRequests();
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
