/** Writes docs/screenshots anew: each page of the console with made-up data, on a desk and on a phone. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { createLog } from '../src/log.ts';
import { startEmbeddedPostgres } from '../src/store/embedded/index.ts';
import { openBrowser, signIn } from '../test/console/browser.ts';
import { makeUp } from '../test/console/made-up.ts';
import { createDatabase } from '../test/support/database.ts';
import { startTestService } from '../test/support/service.ts';

const adminToken = 'made-up-admin-token';
const folder = join(import.meta.dirname, 'screenshots');
const screens = {
  desk: { width: 1120, height: 720 },
  phone: { width: 390, height: 760 },
} as const;
const lights = ['light', 'dark'] as const;

const open = (path: string) => (page: Page, url: string) => page.goto(`${url}/console${path}`);
const press = async (page: Page, name: string) => {
  await page.getByRole('button', { name }).first().click();
  await page.waitForLoadState();
};

/** Each page, and the way to it. */
const pages = (failed: string): Record<string, (page: Page, url: string) => Promise<unknown>> => ({
  overview: open(''),
  deliveries: open('/deliveries?family=receipt'),
  delivery: open(`/deliveries/${failed}`),
  failed: open('/failed'),
  replay: async (page, url) => {
    await open('/failed')(page, url);
    await press(page, 'Replay …');
  },
  quarantine: open('/quarantine'),
  reports: open('/reports'),
  report: open('/reports/receipts_daily'),
  queue: open('/queue'),
  board: async (page, url) => {
    await open('/queue/board/queue/deliveries')(page, url);
    await page.waitForLoadState('networkidle');
  },
});

async function takeAll(browser: Browser, url: string, failed: string): Promise<void> {
  for (const [screen, viewport] of Object.entries(screens)) {
    for (const colorScheme of lights) {
      const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce' });
      const page = await context.newPage();
      const take = (name: string) =>
        page.screenshot({ path: join(folder, `${name}-${screen}-${colorScheme}.png`) });
      await page.goto(`${url}/console`);
      await take('sign-in');
      await signIn(page, url, adminToken);
      for (const [name, go] of Object.entries(pages(failed))) {
        await go(page, url);
        await take(name);
      }
      await context.close();
    }
  }
}

const home = mkdtempSync(join(tmpdir(), 'receiver-screenshots-'));
const server = await startEmbeddedPostgres(home, createLog('error'), ['fsync=off']);
process.env.TEST_POSTGRES_URL = server.url;
const database = await createDatabase();
const { failed } = await makeUp(database, 31, 240);
const service = await startTestService({ databaseUrl: database.url, adminToken });
const browser = await openBrowser();
try {
  await takeAll(browser, service.url, failed[0]!);
} finally {
  await browser.close();
  await service.stop();
  await database.close();
  await server.stop();
  rmSync(home, { recursive: true, force: true });
}
