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
  const data = {
    ...{ receipt_number: 'JA-2671', name: 'Asha Rao', mobile: '+919845128722', patient_oid: 'p-1' },
    ...{ net_amount: 450.5, amount_paid: 450.5, created_at: now, updated_at: now },
  };
  const long = {
    ...{ ...data, receipt_id: 4712, receipt_number: 'JA-2672', mobile: '9', patient_oid: 'p-2' },
    ...{ name: 'N'.repeat(170), net_amount: 1e11 },
  };
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
  'in a browser that is %d px wide a user signs in, finds a patient by four digits, goes back, and downloads and prints a list',
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
    const title = page.getByRole('heading', { level: 1 });
    // The key is the script's.
    await page.waitForLoadState();
    await page.keyboard.press('/');
    await page.keyboard.type('8722');
    await page.keyboard.press('Enter');
    await title.getByText('Asha Rao').waitFor();
    await page.getByRole('link', { name: 'JA-2671' }).click();
    await title.getByText('Receipt JA-2671').waitFor();
    await page.goBack();
    await title.getByText('Asha Rao').waitFor();
    await page.reload();
    await title.getByText('Asha Rao').waitFor();

    await page.goto(`${url}/console/receipts`);
    for (const text of ['450.50', 'Asha Rao'])
      await page.getByText(text).locator('visible=true').first().waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'CSV for programs' }).click(),
    ]);
    expect(await readFile(await download.path(), 'utf8')).toContain(',450.5,');
    for (const path of ['receipts', 'today', 'takings', 'search']) {
      await page.goto(`${url}/console/${path}`);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    }
    // On paper: what is selected on each sheet, nothing over the rows, and no amount is broken.
    await page.emulateMedia({ media: 'print' });
    await page.goto(`${url}/console/receipts?range=all`);
    await page.getByText('Receipts · All days').locator('visible=true').first().waitFor();
    const paper = await page.evaluate(() => {
      const all = (selector: string) => [...document.querySelectorAll<HTMLElement>(selector)];
      return {
        head: getComputedStyle(document.querySelector('thead')!).display,
        rows: all('table[aria-label=Receipts] tbody tr').length,
        fixed: all('th, td').filter((cell) => getComputedStyle(cell).position !== 'static').length,
        broken: all('td.n').filter((cell) => getComputedStyle(cell).whiteSpace !== 'nowrap').length,
      };
    });
    expect(paper).toEqual({ head: 'table-header-group', rows: 2, fixed: 0, broken: 0 });
    expect(errors).toEqual([]);
    await context.close();
  },
);
