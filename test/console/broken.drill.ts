import type { Browser, Page } from 'playwright-core';
import { startTcpProxy, type TcpProxy } from '../chaos/tcp-proxy.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { apply, insertCallbacks, setTimes } from '../support/deliveries.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { post, startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { openBrowser, signIn } from './browser.ts';
import { adminToken } from './visitor.ts';

let database: TestDatabase;
let redis: TestRedis;
let link: TcpProxy;
let service: Awaited<ReturnType<typeof startTestService>>;
let browser: Browser;

beforeAll(async () => {
  database = await createDatabase();
  await apply(database, [receiptCallback()]);
  const at = `now() - interval '1 hour'`;
  await setTimes(database, { received_at: at, applied_at: at });
  redis = await startRedis();
  const address = new URL(database.url);
  link = await startTcpProxy(Number(address.port));
  address.port = String(link.port);
  const config = { databaseUrl: address.href, redisUrl: redis.url, adminToken };
  service = await startTestService({ ...config, role: 'receiver' });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
  await link.stop();
  await redis.stop();
  await database.close();
});

describe.each([1200, 360])(
  'at %i px, Health says what is broken, and whether callbacks are safe:',
  (width) => {
    let page: Page;

    beforeAll(async () => {
      page = await (await browser.newContext({ viewport: { width, height: 780 } })).newPage();
      await signIn(page, service.url, adminToken);
    });
    afterAll(() => page?.context().close());

    afterEach(async () => {
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    });

    /** Reloads Health until its warnings say this; the first of them stands above all else. */
    async function reads(...texts: RegExp[]) {
      await page.goto(`${service.url}/console/health`);
      const warning = page.locator('main .broken').first();
      const isSaid = async () => {
        await page.reload();
        const text = (await warning.isVisible()) ? await warning.textContent() : '';
        return texts.every((one) => one.test(text!));
      };
      await until(isSaid, 40_000, 500);
      const above = await warning.evaluate((element) => element.getBoundingClientRect().top);
      expect(above).toBeLessThan(300);
    }

    it('Redis stopped', async () => {
      redis.process.kill('SIGKILL');
      try {
        await reads(/The queue does not answer/, /See whether Redis runs/, /safe in PostgreSQL/);
        const { status } = await post(
          service.url + paths.receipt,
          receiptCallback({ data: { receipt_id: width } }),
        );
        expect(status).toBe(200);
      } finally {
        await redis.restart();
      }
    });

    it('PostgreSQL stopped', async () => {
      link.cut();
      try {
        await until(async () => {
          const callback = receiptCallback({ data: { receipt_id: 5_000 + width } });
          return (await post(service.url + paths.receipt, callback)).status === 200;
        });
        await reads(/PostgreSQL does not answer since/, /safe in Redis until then: \d+ since/);
      } finally {
        await link.restore();
      }
      await until(async () => (await page.goto(`${service.url}/console/deliveries`))?.status() === 200);
    }, 90_000);

    it('no worker', async () => {
      const ids = await insertCallbacks(database, [receiptCallback({ data: { receipt_id: 9_000 + width } })]);
      await database.pool.query(
        `update pending_deliveries set received_at = now() - interval '5 minutes' where id = any($1)`,
        [ids],
      );
      await reads(/No worker of the family receipt runs/, /Start a worker/, /safe in PostgreSQL/);
    });

    it.each([
      ['receipts', /safe in PostgreSQL/],
      // Rejected bodies are stored there.
      ['quarantine', /Whether all callbacks are safe meanwhile is not known/],
    ])(
      'a locked table, %s',
      async (name, safety) => {
        await database.pool.query('delete from pending_deliveries');
        const client = await database.pool.connect();
        try {
          await client.query(`begin; lock table ${name} in access exclusive mode`);
          await reads(new RegExp(`Table ${name} is locked`), /To end it/, safety);
        } finally {
          await client.query('rollback');
          client.release();
        }
      },
      90_000,
    );
  },
);
