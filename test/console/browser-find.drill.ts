import type { Browser, BrowserContext, Page } from 'playwright-core';
import { updateTerms } from '../../src/store/search-terms.ts';
import { receiptCallback } from '../support/callbacks.ts';
import { apply } from '../support/deliveries.ts';
import { openBrowser, signIn } from './browser.ts';
import { useConsole } from './use-console.ts';
import { adminToken } from './visitor.ts';

const { database, service } = useConsole();
let browser: Browser;
let context: BrowserContext;
let page: Page;

const receipt = (receipt_id: number, event_time = 1_700_000_000, data: object = {}) =>
  receiptCallback({ event_time, data: { receipt_id, mobile: `+9198765432${receipt_id}`, ...data } });

beforeAll(async () => {
  const changed = receipt(11, 1_700_000_100, { amount_due: 0, name: 'Somebody Else' });
  await apply(database, [receipt(10), receipt(11), changed]);
  browser = await openBrowser();
  context = await browser.newContext();
  page = await context.newPage();
  await signIn(page, service.url, adminToken);
});
afterAll(() => browser?.close());

const heading = (name: string, on = page) => on.getByRole('heading', { level: 1, name }).waitFor();
const go = (path: string, on = page) => on.goto(`${service.url}/console${path}`);

/** Presses Tab until an element has the focus. */
async function tabTo(selector: string, on: Page) {
  for (let presses = 0; presses < 80; presses += 1) {
    await on.keyboard.press('Tab');
    if (await on.evaluate((wanted) => document.activeElement?.matches(wanted), selector)) return;
  }
  throw new Error(`Tab does not lead to ${selector}.`);
}

it('the key / leads to the search, and Enter opens the receipt of that id', async () => {
  await go('/aliases');
  await page.keyboard.press('/');
  await page.keyboard.type('11');
  await page.keyboard.press('Enter');
  await heading('Receipt 11');
  // In a field, it is a character.
  await page.keyboard.press('/');
  await page.keyboard.type('1/2');
  expect(await page.locator('#search').inputValue()).toBe('1/2');
});

it.each(['+91 98765 43211', '09876543211', '98765-43211', '3211'])(
  'the phone number %s leads to the receipt, to the patient with all sums, and to who looked, by keyboard',
  async (number) => {
    while ((await updateTerms(database.db)).hasMore);
    await go('');
    await page.keyboard.press('/');
    await page.keyboard.type(number);
    await page.keyboard.press('Enter');
    await heading('Search');
    await tabTo('a[href*="/records/receipt?"][href$="id=11"]', page);
    await page.getByRole('button', { name: 'Show the patient' }).first().focus();
    await page.keyboard.press('Enter');
    await heading('Patient');
    expect(await page.locator('dl').first().textContent()).toMatch(
      /Receipts\d+Total₹[\d,.]+Paid₹[\d,.]+Due₹/,
    );
    await page.getByRole('link', { name: 'All entries about this patient' }).focus();
    await page.keyboard.press('Enter');
    await heading('Access log');
    expect(page.url()).toMatch(/\?about=[\da-f]{64}$/);
  },
);

it('on a phone, a record says what changed, within the width of the screen', async () => {
  await page.setViewportSize({ width: 360, height: 780 });
  await go(`/search?q=11`);
  await heading('Receipt 11');
  expect(await page.locator('.timeline li').first().textContent()).toMatch(
    /^Patient changed, Due ₹90\.05 → ₹0\.00as new at/,
  );
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
});

it('works without scripts: search, list and record', async () => {
  const plain = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
  await signIn(plain, service.url, adminToken);
  await go('/deliveries', plain);
  expect(await plain.getByRole('checkbox').count()).toBe(0);
  await plain.getByRole('link', { name: '11', exact: true }).first().click();
  await heading('Receipt 11', plain);
  await plain.getByText('As received').click();
  await plain.getByText('doctor_oid').waitFor();
  await plain.getByLabel('Search').fill('10');
  await plain.keyboard.press('Enter');
  await heading('Receipt 10', plain);
  await plain.context().close();
});
