/** Writes docs/screenshots anew: the pages of the console that the documents show, with made-up data. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { createLog } from '../src/log.ts';
import { startEmbeddedPostgres } from '../src/store/embedded/index.ts';
import { openBrowser, signIn } from '../test/console/browser.ts';
import { makeUp } from '../test/console/made-up.ts';
import { createDatabase, createTemplate } from '../test/support/database.ts';
import { startTestService } from '../test/support/service.ts';

const adminToken = 'made-up-admin-token';
const folder = join(import.meta.dirname, 'screenshots');
const screens = {
  desk: { width: 1120, height: 720 },
  phone: { width: 390, height: 760 },
} as const;

/** The pages that the documents show. */
const shots = (failed: string) =>
  [
    ['overview', 'desk', ''],
    ['overview', 'phone', ''],
    ['deliveries', 'desk', '/deliveries?family=receipt'],
    ['delivery', 'desk', `/deliveries/${failed}`],
  ] as const;

async function takeAll(browser: Browser, url: string, failed: string): Promise<void> {
  const context = await browser.newContext({ colorScheme: 'light', reducedMotion: 'reduce' });
  const page = await context.newPage();
  await signIn(page, url, adminToken);
  for (const [name, screen, path] of shots(failed)) {
    await page.setViewportSize(screens[screen]);
    await page.goto(`${url}/console${path}`);
    await page.screenshot({ path: join(folder, `${name}-${screen}-light.png`) });
  }
}

const home = mkdtempSync(join(tmpdir(), 'receiver-screenshots-'));
const server = await startEmbeddedPostgres(home, createLog('error'), ['fsync=off']);
process.env.TEST_POSTGRES_URL = server.url;
await createTemplate();
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
