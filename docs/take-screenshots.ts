/** Writes docs/screenshots anew: the pages of the console that the documents show, with made-up data. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { createLog } from '../src/common/log.ts';
import { startEmbeddedPostgres } from '../src/store/embedded/index.ts';
import { findPlace } from '../src/store/embedded/place.ts';
import { openBrowser, signIn } from '../test/console/browser.ts';
import { makeUp } from '../test/console/made-up.ts';
import { makeSuperuser } from '../test/support/cluster.ts';
import { createDatabase, createTemplate, type TestDatabase } from '../test/support/database.ts';
import { startTestService } from '../test/support/service.ts';

const adminToken = 'made-up-admin-token';
const folder = join(import.meta.dirname, 'screenshots');
const screens = {
  desk: { width: 1120, height: 720 },
  phone: { width: 390, height: 760 },
} as const;

interface Subjects {
  /** A receipt with several versions. */
  receipt: URLSearchParams;
}

/** The pages that the documents show. */
const shots = ({ receipt }: Subjects) =>
  [
    ['today', 'desk', '/today'],
    ['today', 'phone', '/today'],
    ['health', 'desk', '/health'],
    ['doctors', 'desk', '/reports/receipts_daily?range=last_month&group=doctor&compare=previous_period'],
    ['record', 'desk', `/records/receipt?${receipt}`],
    ['dues', 'desk', '/reports/outstanding_receipts'],
  ] as const;

/** Gives names to ids, and finds what the pages show. */
async function prepare(database: TestDatabase): Promise<Subjects> {
  await database.pool.query(`
    insert into aliases (kind, id, alias, updated_by)
    select 'business', business_id, 'Sunrise Clinics, ' || (array['Pune', 'Nashik', 'Thane'])[row_number() over ()], 'made up'
    from (select distinct business_id from inbox order by 1 limit 3) businesses
    union all
    select 'doctor', doctor_oid, 'Dr. ' || (array['Mehta', 'Iyer', 'Khan', 'Bose'])[row_number() over ()], 'made up'
    from (select distinct doctor_oid from receipts where doctor_oid <> '' order by 1 limit 4) doctors`);
  const [receipt] = await database.rows(`
    select business_id as business, receipt_id::text as id from receipts
    where last_event = 'receipt.updated' and receipt_id in (select receipt_id from receipt_versions)
    order by event_time desc limit 1`);
  return { receipt: new URLSearchParams(receipt as Record<string, string>) };
}

async function takeAll(browser: Browser, url: string, subjects: Subjects): Promise<void> {
  const context = await browser.newContext({ colorScheme: 'light', reducedMotion: 'reduce' });
  const page = await context.newPage();
  await signIn(page, url, adminToken);
  for (const [name, screen, path] of shots(subjects)) {
    await page.setViewportSize(screens[screen]);
    await page.goto(`${url}/console${path}`);
    await page.screenshot({ path: join(folder, `${name}-${screen}-light.png`) });
  }
}

const home = mkdtempSync(join(tmpdir(), 'receiver-screenshots-'));
const server = await startEmbeddedPostgres(home, createLog('error'), ['fsync=off']);
await makeSuperuser(findPlace(home).home, server.url);
process.env.TEST_POSTGRES_URL = server.url;
await createTemplate();
const database = await createDatabase();
await makeUp(database, 31, 240);
const subjects = await prepare(database);
const service = await startTestService({ databaseUrl: database.url, adminToken });
const browser = await openBrowser();
try {
  await takeAll(browser, service.url, subjects);
} finally {
  await browser.close();
  await service.stop();
  await database.close();
  await server.stop();
  rmSync(home, { recursive: true, force: true });
}
