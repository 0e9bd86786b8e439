import { randomBytes } from 'node:crypto';
import { reports } from '../../src/reports/reports.ts';
import type { Service } from '../../src/service/service.ts';
import { withClient } from '../../src/store/pool.ts';
import { pagesOf, type Subjects } from '../console/pages.ts';
import { tourConsole } from '../console/tour.ts';
import { adminToken, signInTo, type Visitor } from '../console/visitor.ts';
import { consentFormCallback, paths, receiptCallback } from '../support/callbacks.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { spawnReceiver } from '../support/process.ts';
import { openRedis, type TestRedis } from '../support/redis.ts';
import { post, startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

// Settings that an administrator may have changed.
const settings = [
  `DateStyle to 'German, DMY'`,
  `TimeZone to 'America/St_Johns'`,
  `IntervalStyle to 'sql_standard'`,
  `bytea_output to 'escape'`,
  `search_path to 'elsewhere', 'public'`,
  `default_transaction_isolation to 'serializable'`,
  `statement_timeout to '50ms'`,
  `lock_timeout to '1ms'`,
  `idle_in_transaction_session_timeout to '1ms'`,
  `idle_session_timeout to '200ms'`,
  `standard_conforming_strings to off`,
  `extra_float_digits to -15`,
  `synchronous_commit to off`,
];

let database: TestDatabase;
let redis: Pick<TestRedis, 'url' | 'client' | 'stop'>;
let url: string;
const role = `ordinary_${randomBytes(4).toString('hex')}`;

beforeAll(async () => {
  redis = await openRedis();
  database = await createEmptyDatabase();
  const [{ name } = {}] = await database.rows('select current_database() as name');
  await database.pool.query(
    `create role ${role} login password 'ordinary' nosuperuser nocreatedb nocreaterole;
     alter database ${name} owner to ${role};
     create schema elsewhere authorization ${role};
     ${settings.map((setting) => `alter role ${role} in database ${name} set ${setting};`).join('')}`,
  );
  url = Object.assign(new URL(database.url), { username: role, password: 'ordinary' }).href;
});
afterAll(async () => {
  await database.close();
  await redis.stop();
  const administrator = await createEmptyDatabase();
  await administrator.pool.query(`drop role ${role}`);
  await administrator.close();
});

describe.each(['redis', 'postgresql'])(
  'with the queue on %s, a role without privileges and with unusual settings',
  (backend) => {
    let service: Service & { url: string };
    let visitor: Visitor;
    beforeAll(async () => {
      const redisUrl = backend === 'redis' ? redis.url : undefined;
      service = await startTestService({
        databaseUrl: url,
        redisUrl,
        adminToken,
        sweep: { everyMs: 200, olderThanMs: 0 },
      });
      visitor = await signInTo(service.url);
    });
    afterAll(() => service.stop());

    it('accepts callbacks and applies them', async () => {
      const created_at = Date.now();
      const form = consentFormCallback({ data: { id: `${backend} form` } });
      const receipt_id = backend.length;
      expect(
        (await post(service.url + paths.receipt, receiptCallback({ data: { receipt_id, created_at } })))
          .status,
      ).toBe(200);
      expect((await post(service.url + paths.consent_form, form)).status).toBe(200);
      expect((await post(service.url + paths.receipt, '{"event":')).status).toBe(400);
      const applied = () =>
        database.rows(
          `select created_at from public.receipts, public.consent_forms c where receipt_id = $1 and c.id = $2`,
          [receipt_id, `${backend} form`],
        );
      expect(await until(async () => (await applied())[0])).toEqual({ created_at: new Date(created_at) });
      expect(
        await database.rows(`select from pg_class where relnamespace = 'elsewhere'::regnamespace`),
      ).toEqual([]);
    });

    it('shows every page of the console', async () => {
      const [delivery] = await database.rows('select id from public.deliveries limit 1');
      const [body] = await database.rows('select id from public.quarantine limit 1');
      const [receipt] = await database.rows(
        'select business_id as business, receipt_id::text as id from public.receipts limit 1',
      );
      const subjects = { delivery: delivery!.id, body: body!.id, receipt } as Subjects;
      for (const page of [...pagesOf(subjects), ...reports.map(({ view }) => `/reports/${view}/csv`)]) {
        const response = await visitor.get(page);
        const text = await response.text();
        expect([page, response.status]).toEqual([page, 200]);
        // A German date: 21.11.2026.
        expect([page, text.match(/\b\d\d\.\d\d\.\d{4}\b/)]).toEqual([page, null]);
      }
    });

    it('does everything that the console can do', () =>
      tourConsole(service.url, (query) =>
        withClient(url, async (client) => (await client.query(query)).rows),
      ));

    it('is ready, and serves its metrics', async () => {
      expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
      const headers = { Authorization: `Bearer ${adminToken}` };
      expect((await fetch(`${service.url}/metrics`, { headers })).status).toBe(200);
    });
  },
);

it('commands work for this role', async () => {
  for (const args of [
    ['migrate'],
    ['sql', 'select pg_sleep(0.1), count(*) from receipts'],
    ['replay', '--status', 'applied'],
    ['quarantine', 'show'],
  ]) {
    const command = spawnReceiver(args, { DATABASE_URL: url });
    expect([args[0], await command.end(), command.output()]).toEqual([args[0], 0, expect.any(String)]);
  }
});
