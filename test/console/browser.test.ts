import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { openQueue } from '../support/queue.ts';
import { openBrowser, signIn } from './browser.ts';
import { type MadeUp, makeUp } from './made-up.ts';
import { useConsole } from './use-console.ts';
import { adminToken } from './visitor.ts';

const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const minute = 60_000;

let madeUp: MadeUp;
const { database, service } = useConsole({
  prepare: async (own) => {
    madeUp = await makeUp(own, 10, 60);
    return {};
  },
});
let browser: Browser;
let context: BrowserContext;
let page: Page;
/** Requested addresses, and errors that the browser reported. */
const requested: string[] = [];
const browserErrors: string[] = [];
/** Paths where the tests provoke a status other than 200. */
const provoked = ['/favicon.ico', '/console', '/console/deliveries', '/console/nothing'];

beforeAll(async () => {
  const { queue, close } = await openQueue(database);
  await queue.bullmq().add('apply', { ids: [madeUp.applied[0]!] }, { delay: 60 * minute });
  await close();
  browser = await openBrowser();
  context = await open();
  page = await context.newPage();
  await signIn(page, service.url, adminToken);
}, 10 * minute);
afterAll(() => browser?.close());

async function open(options: Parameters<Browser['newContext']>[0] = {}): Promise<BrowserContext> {
  const opened = await browser.newContext({ acceptDownloads: true, ...options });
  opened.on('request', (request) => requested.push(request.url()));
  opened.on('console', (message) => {
    const { url } = message.location();
    if (message.type() === 'error' && !provoked.includes(new URL(url || service.url).pathname)) {
      browserErrors.push(`${message.text()} at ${url}`);
    }
  });
  opened.on('weberror', (error) => browserErrors.push(error.error().message));
  await opened.addInitScript({ path: axePath });
  return opened;
}

const go = (path: string) => page.goto(`${service.url}/console${path}`);
const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor();

it('the overview draws its charts from the tables below them', async () => {
  await go('');
  for (const name of ['Chart: Callbacks per hour', 'Chart: Net amount']) {
    const canvas = page.getByRole('img', { name });
    await canvas.waitFor();
    const isDrawn = await canvas.evaluate((element) => {
      const { data } = (element as HTMLCanvasElement).getContext('2d')!.getImageData(0, 0, 600, 250);
      return data.some((value) => value !== 0);
    });
    expect(isDrawn).toBe(true);
  }
  await page.getByText('Data:').last().click();
  const figures = page.getByRole('region', { name: 'Data: Net amount' });
  expect(await figures.getByRole('row').count()).toBe(31);
  const [sum] = await database.rows('select sum(net_amount)::float as net from reporting.receipts');
  const shown = await figures
    .locator('td:nth-child(2)')
    .evaluateAll((cells) =>
      cells.reduce((total, cell) => total + Number((cell as HTMLElement).dataset.value), 0),
    );
  expect(shown).toBeCloseTo(sum!.net as number, 2);
  await page.getByRole('heading', { name: 'Unusually silent businesses' }).waitFor();
});

it('a failed delivery is found with the keyboard, opened, replayed and applied', async () => {
  const id = madeUp.failed[0]!;
  await go('');
  await page.keyboard.press('Tab');
  expect(await page.evaluate(() => document.activeElement?.textContent?.trim())).toBe('Skip to content');
  await page.getByRole('link', { name: 'Failed' }).first().focus();
  await page.keyboard.press('Enter');
  await heading('Failed deliveries');

  await go('/deliveries');
  await page.getByText('Filter', { exact: true }).click();
  await page.getByLabel('Status').selectOption('failed');
  await page.getByLabel('Delivery id').fill(id);
  await page.keyboard.press('Enter');
  await page.locator('tbody a').first().click();
  await page.getByText('receipts.receipts_no_refunds').waitFor();

  await database.pool.query('alter table receipts drop constraint receipts_no_refunds');
  await page.getByRole('button', { name: 'Replay …' }).click();
  await heading('Preview replay');
  await page.getByRole('button', { name: 'Replay 1 delivery' }).click();
  await heading('Replayed');
  await page.getByRole('link', { name: id }).click();
  await page.getByText('Applied', { exact: true }).waitFor();
  expect(await page.locator('.status').textContent()).toBe('applied');
  expect(await database.rows('select status from deliveries where id = $1', [id])).toEqual([
    { status: 'applied' },
  ]);
});

it('personal data is shown on demand', async () => {
  const [receipt] = await database.rows(
    `select delivery_id, mobile from receipts where mobile <> '' limit 1`,
  );
  await go(`/deliveries/${receipt!.delivery_id}`);
  expect(await page.content()).not.toContain(receipt!.mobile);
  await page.getByRole('button', { name: 'Show personal data' }).click();
  await page
    .getByText(receipt!.mobile as string)
    .first()
    .waitFor();
});

it('a report is filtered and downloaded', async () => {
  await go('/reports');
  await page.getByRole('link', { name: 'Receipts', exact: true }).click();
  await page.getByLabel('Business').fill('6712f0c2e4b0a1b2c3d4e501');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.waitForURL(/business=6712/);
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download CSV', exact: true }).click();
  const download = await downloading;
  expect(download.suggestedFilename()).toMatch(/^receipts_[\d-]+_[\d-]+\.csv$/);
  const lines = (await readFile(await download.path(), 'utf8')).trim().split('\r\n');
  const [expected] = await database.rows(
    `select count(*)::int as n from reporting.receipts where business_id = '6712f0c2e4b0a1b2c3d4e501'`,
  );
  expect(lines.length).toBe((expected!.n as number) + 1);
});

it('a state of the queue links to its jobs, and a job to its delivery', async () => {
  await go('/queue');
  await page.getByRole('link', { name: 'delayed' }).click();
  await heading('Jobs: delayed');
  await page.getByRole('link', { name: madeUp.applied[0]! }).click();
  await page.getByRole('heading', { name: 'Callback' }).waitFor();
});

const pages = async () => {
  const [body] = await database.rows('select id from quarantine limit 1');
  const [receipt] = await database.rows(`
    select business_id as business, receipt_id::text as id, v.delivery_id as from, r.delivery_id as to
    from receipts r join receipt_versions v using (business_id, receipt_id) limit 1`);
  const [named] = await database.rows(`
    select left(name, 3) as q from receipts where name ~ '^[A-Za-z]{3}' group by 1 order by count(*) desc limit 1`);
  return [
    '',
    '/deliveries',
    '/deliveries?family=receipt&id=x',
    `/deliveries/${madeUp.applied[0]}`,
    `/things/receipt?${new URLSearchParams(receipt as Record<string, string>)}`,
    `/search?q=${named!.q}`,
    '/failed',
    '/quarantine',
    `/quarantine/${body!.id}`,
    '/reports',
    '/reports/receipts_daily',
    '/reports/silence',
    '/queue',
    '/queue/delayed',
    '/access-log',
    '/nothing',
  ];
};

const violationsOf = (on: Page) =>
  on.evaluate(async () => {
    const { axe } = window as unknown as { axe: { run: () => Promise<AxeResults> } };
    const { violations } = await axe.run();
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  });

it.each([
  ['light', 1200],
  ['dark', 1200],
  ['light', 360],
  ['dark', 360],
] as const)(
  'no page has a serious accessibility violation or is wider than its screen: %s, %d wide',
  async (colorScheme, width) => {
    const own = await open({ colorScheme, viewport: { width, height: 780 }, reducedMotion: 'reduce' });
    const visited = await own.newPage();
    const found: Record<string, unknown> = {};
    const check = async (name: string) => {
      const serious = await violationsOf(visited);
      const overflow = await visited.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      if (serious.length > 0 || overflow > 0) found[name] = { serious, overflow };
    };
    await visited.goto(`${service.url}/console`);
    await check('sign-in');
    await signIn(visited, service.url, adminToken);
    for (const path of await pages()) {
      await visited.goto(`${service.url}/console${path}`);
      await check(path);
    }
    for (const [from, button] of [
      ['/failed', 'Replay …'],
      ['/quarantine', 'Replay …'],
      ['/quarantine', 'Drop …'],
    ]) {
      await visited.goto(`${service.url}/console${from}`);
      await visited.getByRole('button', { name: button! }).first().click();
      await visited.waitForLoadState();
      await check(button!);
    }
    await own.close();
    expect(found).toEqual({});
  },
  4 * minute,
);

it('works without scripts: the data of the charts can be read', async () => {
  const own = await browser.newContext({ javaScriptEnabled: false });
  const plain = await own.newPage();
  await signIn(plain, service.url, adminToken);
  await plain.getByText('Data:').first().click();
  await plain.getByRole('region', { name: 'Data: Callbacks per hour' }).waitFor();
  await own.close();
});

it('no page requested anything of another host, and the browser reported no error', () => {
  const elsewhere = requested.filter((address) => new URL(address).origin !== service.url);
  expect(requested.length).toBeGreaterThan(100);
  expect(elsewhere).toEqual([]);
  expect(browserErrors).toEqual([]);
});
