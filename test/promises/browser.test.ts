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
  const long = { ...data, receipt_id: 4712, name: 'N'.repeat(170), net_amount: 1e11 };
  await apply(
    database,
    [data, long].map((one) => receiptCallback({ event_time: now, data: one })),
  );
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
    // On paper: the days and filters, and below the rows, not on them, the total; amounts are not broken.
    await page.emulateMedia({ media: 'print' });
    await page.goto(`${url}/console/reports/receipts?range=all`);
    await page.getByText('Days: all').locator('visible=true').first().waitFor();
    await page
      .getByText(/^As of /)
      .locator('visible=true')
      .first()
      .waitFor();
    const paper = await page.evaluate(() => {
      const all = (selector: string) => [...document.querySelectorAll<HTMLElement>(selector)];
      const total = document.querySelector('tfoot tr')!.getBoundingClientRect();
      return {
        above: all('section[aria-label=Receipts] tbody tr').filter(
          (row) => row.getBoundingClientRect().bottom <= total.top + 1,
        ).length,
        fixed: all('th, td').filter((cell) => getComputedStyle(cell).position !== 'static').length,
        repeated: getComputedStyle(document.querySelector('tfoot')!).display,
        broken: all('td.number').filter((cell) => getComputedStyle(cell).whiteSpace !== 'nowrap').length,
      };
    });
    expect(paper).toEqual({ above: 2, fixed: 0, repeated: 'table-row-group', broken: 0 });
    expect(errors).toEqual([]);
    await context.close();
  },
);
