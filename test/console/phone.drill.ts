import type { Browser, Locator, Page } from 'playwright-core';
import { openBrowser, signIn } from './browser.ts';
import { makeUp } from './made-up.ts';
import { useConsole } from './use-console.ts';
import { adminToken } from './visitor.ts';

const width = 360;
const { database, service, visitor } = useConsole({
  prepare: async (own) => {
    await makeUp(own, 10, 60);
    return {};
  },
});
let browser: Browser;
let page: Page;

beforeAll(async () => {
  browser = await openBrowser();
  const context = await browser.newContext({ viewport: { width, height: 780 } });
  page = await context.newPage();
  await signIn(page, service.url, adminToken);
});
afterAll(() => browser?.close());

const go = (path: string) => page.goto(`${service.url}/console${path}`);

/** Whether it is on the screen without scrolling sideways. */
async function fits(element: Locator): Promise<boolean> {
  const box = await element.boundingBox();
  return box !== null && box.width > 0 && box.x >= 0 && box.x + box.width <= width;
}

it.each([
  ['/deliveries', '.status'],
  ['/problems', 'button'],
])('on a phone each row of %s is a card, with its status and actions on the screen', async (path, part) => {
  await go(path);
  const card = page.locator('tbody tr').first();
  expect(await fits(card)).toBe(true);
  expect(await fits(card.locator(part).first())).toBe(true);
  const names = await card
    .locator('td')
    .evaluateAll((cells) => cells.map((cell) => getComputedStyle(cell, '::before').content));
  expect(names.filter((name) => /^"\w/.test(name)).length).toBeGreaterThan(2);
});

it('on a phone a report has a card for each row, with the names of its columns', async () => {
  await go('/reports/receipts?range=all');
  const card = page.getByRole('region', { name: 'Receipts', exact: true }).locator('tbody tr').first();
  expect(await fits(card)).toBe(true);
  const due = card.locator('[data-head="Due"]');
  expect(await due.evaluate((cell) => getComputedStyle(cell, '::before').content)).toBe('"Due"');
});

/** Follows a link or presses a button with the keyboard. */
async function press(element: Locator): Promise<void> {
  await element.first().focus();
  await page.keyboard.press('Enter');
}
const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor();

it.each([
  ['Failed deliveries by cause', 'A replay would apply nothing'],
  ['Rejected bodies by cause', 'A replay would accept nothing'],
])(
  'on a phone a preview of %s that would apply nothing leads back, and offers no replay',
  async (causes, text) => {
    await go('/problems');
    await press(page.getByRole('region', { name: causes }).getByRole('button', { name: 'Replay …' }));
    await heading('Preview replay');
    expect(await fits(page.getByText(text))).toBe(true);
    expect(await page.locator('main').getByRole('button').count()).toBe(0);
    await press(page.getByRole('link', { name: 'Back to the problems' }));
    await heading('Problems');
  },
);

it('on a phone a report is filtered, sorted and added up with the keyboard', async () => {
  const [found] = await database.rows(`
    select clinic_id as clinic, to_char(sum(paid_amount), 'FM9999990.00') as paid from reporting.receipts_daily
    where day >= reporting.today() - 29 group by 1 order by count(*) desc limit 1`);
  await go('/reports/receipts_daily');
  await page.locator('summary', { hasText: 'Filter' }).press('Enter');
  await page.getByRole('combobox', { name: 'Clinic' }).fill(found!.clinic as string);
  await page.keyboard.press('Enter');
  await page.waitForURL(/clinic=/);
  const head = page.getByRole('columnheader', { name: /^Paid/ });
  await press(head.getByRole('link'));
  await page.waitForURL(/sort=paid_amount/);
  const place = await head.evaluate((cell) => (cell as HTMLTableCellElement).cellIndex + 1);
  const cells = (part: string) =>
    page.locator(`section[aria-label="Receipts per day"] ${part} :nth-child(${place})`).allTextContents();
  const amounts = (await cells('tbody')).map((text) => Number(text.replaceAll(/[₹,]/g, '')));
  expect(amounts.length).toBeGreaterThan(1);
  expect(amounts).toEqual(amounts.toSorted((a, b) => a - b));
  expect((await cells('tfoot')).map((text) => text.replaceAll(/[₹,]/g, ''))).toEqual([found!.paid]);
});

it('the navigation has the number of failed deliveries and rejected bodies, and none where there are none', async () => {
  const countIn = (html: string) => />Problems<span class="count"> ([\d,+]+)</.exec(html)?.[1];
  const [row] = await database.rows(`
    select (select count(*) from failed_deliveries) + (select count(*) from quarantine where replayed_at is null) as all,
           (select count(*) from failed_deliveries) as failed`);
  expect(countIn(await visitor.read('/aliases'))).toBe(row!.all);
  await database.pool.query('delete from quarantine');
  expect(countIn(await visitor.read('/aliases'))).toBe(row!.failed);
  await database.pool.query('delete from failed_deliveries');
  expect(countIn(await visitor.read('/aliases'))).toBeUndefined();
});
