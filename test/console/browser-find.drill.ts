import type { Browser, BrowserContext, Page } from 'playwright-core';
import { updateTerms } from '../../src/store/search-terms.ts';
import { receiptCallback } from '../support/callbacks.ts';
import { apply } from '../support/deliveries.ts';
import { until } from '../support/until.ts';
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

describe('the list of deliveries', () => {
  let live: Page;
  const lines = () => live.locator('tbody tr').count();
  /** Lets the time pass until the page has asked for what is new. */
  const poll = async () => {
    const answered = live.waitForResponse((response) => response.url().includes('/deliveries'));
    await live.clock.runFor(3_000);
    await (await answered).finished();
  };
  let next = 20;
  const arrive = async () => {
    next += 1;
    await apply(database, [receipt(next)]);
  };

  beforeEach(async () => {
    live = await context.newPage();
    await live.clock.install();
    await go('/deliveries', live);
  });
  afterEach(() => live.close());

  it('shows new ones by itself, and announces how many', async () => {
    const before = await lines();
    await arrive();
    await arrive();
    await poll();
    await live.getByRole('status').filter({ hasText: '2 new deliveries' }).waitFor();
    expect(await lines()).toBe(before + 2);
    expect(await live.locator('tbody tr').first().textContent()).toContain(String(next));
  });

  it('is paused while a row has the focus or is selected, or the page is hidden', async () => {
    const before = await lines();
    let polls = 0;
    live.on('request', () => {
      polls += 1;
    });
    await arrive();
    await live.locator('tbody a').first().focus();
    await live.clock.runFor(10_000);
    expect(await live.locator('.live').textContent()).toContain('Paused while the list is in use.');
    await live.evaluate(() => {
      (document.activeElement as HTMLElement).blur();
      getSelection()!.selectAllChildren(document.querySelector('tbody')!);
    });
    await live.clock.runFor(10_000);
    await live.evaluate(() => {
      getSelection()!.removeAllRanges();
      Object.defineProperty(document, 'hidden', { value: true, configurable: true });
    });
    await live.clock.runFor(10_000);
    expect([await lines(), polls]).toEqual([before, 0]);
    await live.evaluate(() => Object.defineProperty(document, 'hidden', { value: false }));
    await poll();
    await live.getByRole('status').filter({ hasText: '1 new delivery' }).waitFor();
  });

  it('stays as it is where somebody has switched it off, also on the next page', async () => {
    await tabTo('.live input', live);
    await live.keyboard.press('Space');
    await go('/deliveries?family=receipt', live);
    const before = await lines();
    let polls = 0;
    live.on('request', () => {
      polls += 1;
    });
    await arrive();
    await live.clock.runFor(30_000);
    expect([await lines(), polls, await live.getByRole('checkbox').isChecked()]).toEqual([before, 0, false]);
    await live.getByRole('checkbox').check();
    await poll();
    await live.getByRole('status').filter({ hasText: '1 new delivery' }).waitFor();
  });

  it('asks less often while it gets errors, and no more once somebody has signed out', async () => {
    const times: number[] = [];
    let status = 503;
    await live.route('**/deliveries', async (route) => {
      times.push(await live.evaluate(() => Date.now()));
      await route.fulfill({ status, body: 'none' });
    });
    const letPass = async (condition: () => boolean | Promise<boolean>) =>
      until(async () => {
        await live.clock.runFor(500);
        return condition();
      });
    await letPass(() => times.length === 3);
    const [first, second, third] = times as [number, number, number];
    expect([second - first >= 6_000, third - second >= 12_000]).toEqual([true, true]);
    status = 401;
    await letPass(() => live.getByText('You are signed out.').isVisible());
    await live.clock.runFor(120_000);
    expect(times).toHaveLength(4);
  });

  it('has no switch and does not ask on later pages', async () => {
    await go('/deliveries?before=9000000000000000.018bcfe5-6800-8a3c-9f10-0123456789ab', live);
    expect(await live.getByRole('checkbox').count()).toBe(0);
  });
});

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
