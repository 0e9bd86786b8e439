import { readFile } from 'node:fs/promises';
import { type Browser, chromium } from 'playwright-core';
import { apply } from '../db/apply.ts';
import { receiptCallback } from '../support/callbacks.ts';
import { killProcesses, spawnService } from '../support/process.ts';
import { findProgram } from '../support/programs.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';

const database = useReceiverDatabase();
const adminToken = 'an-admin-token-of-tests';
let browser: Browser;
let url: string;
beforeAll(async () => {
  const now = Date.now();
  const data = { name: 'Asha Rao', net_amount: 450.5, created_at: now, updated_at: now };
  await apply(database, [receiptCallback({ event_time: now, data })]);
  ({ url } = await spawnService({ DATABASE_URL: database.url, ADMIN_TOKEN: adminToken }));
  const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking'];
  browser = await chromium.launch({ executablePath: findProgram('chromium'), args });
});
afterAll(async () => {
  await browser?.close();
  killProcesses();
});

it.each([1_280, 360])(
  'in a browser that is %d px wide a user signs in, reads a report and downloads it',
  async (width) => {
    const context = await browser.newContext({
      viewport: { width, height: 800 },
      acceptDownloads: true,
      reducedMotion: 'reduce',
    });
    const page = await context.newPage();
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('console', (message) => {
      // The page asks before anybody has signed in.
      if (message.type() === 'error' && !message.text().includes('401')) errors.push(message.text());
    });
    await page.goto(`${url}/console`);
    await page.getByLabel('Admin token').fill(adminToken);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Today' }).waitFor();
    await page.goto(`${url}/console/reports/receipts`);
    await page.getByText('450.50').locator('visible=true').first().waitFor();
    await page.getByText('Asha Rao').locator('visible=true').first().waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV for programs' }).click(),
    ]);
    expect(await readFile(await download.path(), 'utf8')).toContain(',450.5,');
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    expect(errors).toEqual([]);
    await context.close();
  },
);
