import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { until } from '../support/until.ts';
import { openBrowser, signIn } from './browser.ts';
import { type MadeUp, makeUp } from './made-up.ts';
import { pagesOf } from './pages.ts';
import { useConsole } from './use-console.ts';
import { adminToken } from './visitor.ts';

const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const minute = 60_000;

let madeUp: MadeUp;
const { database, service } = useConsole({
  prepare: async (own) => {
    // A business is known to be silent once it has sent for a week.
    madeUp = await makeUp(own, 14, 60);
    return {};
  },
});
const empty = useConsole({ prepare: async () => ({ role: 'all' }) });
let browser: Browser;
let context: BrowserContext;
let page: Page;
/** Requested addresses, and errors that the browser reported. */
const requested: string[] = [];
const browserErrors: string[] = [];
/** Paths where the tests provoke a status other than 200. */
const provoked = ['/console', '/console/deliveries', '/console/nothing'];
const isProvoked = (path: string) => provoked.includes(path) || path.endsWith('/body');

beforeAll(async () => {
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
    if (message.type() === 'error' && !isProvoked(new URL(url || service.url).pathname)) {
      browserErrors.push(`${message.text()} at ${url}`);
    }
  });
  opened.on('weberror', (error) => browserErrors.push(error.error().message));
  await opened.addInitScript({ path: axePath });
  await opened.addInitScript(() => {
    const moved: string[] = [];
    Object.assign(window, { moved });
    new PerformanceObserver((list) => {
      for (const { sources } of list.getEntries() as LayoutShift[])
        moved.push(
          ...sources.map(({ node }) => (node as Element | null)?.outerHTML?.slice(0, 80) ?? 'a text'),
        );
    }).observe({ type: 'layout-shift', buffered: true });
  });
  return opened;
}

const movedOn = (on: Page) => on.evaluate(() => (window as unknown as { moved: string[] }).moved);

type LayoutShift = PerformanceEntry & { sources: { node?: unknown }[] };

const go = (path: string) => page.goto(`${service.url}/console${path}`);
const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor();

it('Health names unusually silent businesses, once they are found', async () => {
  await until(async () => {
    await go('/health');
    return page.getByRole('heading', { name: 'Unusually silent businesses' }).isVisible();
  });
});

it('a failed delivery is found with the keyboard, opened, replayed and applied', async () => {
  const id = madeUp.failed[0]!;
  await go('/health');
  await page.keyboard.press('Tab');
  expect(await page.evaluate(() => document.activeElement?.textContent?.trim())).toBe('Skip to content');
  await page.getByRole('link', { name: 'Problems' }).first().focus();
  await page.keyboard.press('Enter');
  await heading('Problems');

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

it('a rejected body is corrected and replayed with the keyboard on a phone', async () => {
  const [body] = await database.rows(
    `select id from quarantine where errors::text like '%/event_time%' order by last_received_at desc limit 1`,
  );
  const own = await open({ viewport: { width: 360, height: 780 } });
  const phone = await own.newPage();
  const press = async (role: 'link' | 'button', name: string) => {
    await phone.getByRole(role, { name }).focus();
    await phone.keyboard.press('Enter');
  };
  await signIn(phone, service.url, adminToken);
  await press('link', 'In quarantine');
  await phone.getByRole('heading', { level: 1, name: 'Problems' }).waitFor();
  await press('link', 'All rejected bodies');
  await phone.locator(`a[href$="${body!.id}"]`).focus();
  await phone.keyboard.press('Enter');
  await press('button', 'Show the body');
  const field = phone.getByLabel('The body, to be corrected');
  const received = await field.inputValue();
  await press('button', 'Replay this body');
  await phone.getByText('Nothing was changed.').waitFor();
  await field.fill(received.replace(/("event_time": *)"(\d+)"/, '$1$2'));
  await press('button', 'Replay this body');
  await phone.getByRole('heading', { level: 1, name: 'Corrected and replayed' }).waitFor();
  await own.close();
  expect(await database.rows('select from quarantine where corrects = $1', [body!.id])).toHaveLength(1);
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
  await page.locator('main').getByRole('link', { name: 'Receipts', exact: true }).click();
  await page.getByText('Filter', { exact: true }).click();
  await page.getByLabel('Business').fill('6712f0c2e4b0a1b2c3d4e501');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.waitForURL(/business=6712/);
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'CSV', exact: true }).first().click();
  const download = await downloading;
  expect(download.suggestedFilename()).toMatch(/^receipts_[\d-]+_[\d-]+\.csv$/);
  const lines = (await readFile(await download.path(), 'utf8')).trim().split('\r\n');
  const [expected] = await database.rows(
    `select count(*)::int as n from reporting.receipts where business_id = '6712f0c2e4b0a1b2c3d4e501'`,
  );
  expect(lines.length).toBe((expected!.n as number) + 1);
});

it('the table is sorted by the head of a column, by keyboard, and the address has it', async () => {
  await go('/reports/receipts_daily?range=last_30_days');
  const amounts = () =>
    page.locator('main section[aria-label="Receipts per day"] tbody [data-head="Paid"]').allTextContents();
  const head = page.getByRole('columnheader', { name: /^Paid/ });
  for (const order of ['ascending', 'descending']) {
    await head.getByRole('link').focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(order === 'ascending' ? /sort=paid_amount/ : /sort=-paid_amount/);
    expect(await head.getAttribute('aria-sort')).toBe(order);
    const numbers = (await amounts()).map((text) => Number(text.replaceAll(/[₹,]/g, '')));
    expect(numbers.length).toBeGreaterThan(20);
    expect(numbers).toEqual(numbers.toSorted((a, b) => (order === 'ascending' ? a - b : b - a)));
  }
  expect(page.url()).toContain('range=last_30_days');
  expect((await amounts()).every((text) => /\d\.\d\d$/.test(text))).toBe(true);
});

it('the navigation is one row at 1,000 px, and a menu at 360 px; the first key leads past it', async () => {
  await page.setViewportSize({ width: 1000, height: 800 });
  await go('/aliases');
  const isOneRow = () =>
    page
      .locator('.bar nav a')
      .evaluateAll((links) => new Set(links.map((link) => (link as HTMLElement).offsetTop)).size === 1);
  expect(await isOneRow()).toBe(true);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('main');
  await go('/deliveries');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  expect(await page.evaluate(() => document.activeElement!.closest('main') !== null)).toBe(true);
  await page.setViewportSize({ width: 360, height: 780 });
  expect(await page.locator('.bar nav').isVisible()).toBe(false);
  await page.setViewportSize({ width: 1280, height: 720 });
});

it('an amount stays within a window of 1,200 px, and the head and the totals at its edges', async () => {
  await page.setViewportSize({ width: 1200, height: 800 });
  for (const view of ['receipts', 'outstanding_receipts', 'appointments']) {
    await go(`/reports/${view}?range=all`);
    const rights = await page
      .locator('main .number')
      .evaluateAll((cells) => cells.map((cell) => cell.getBoundingClientRect().right));
    expect([view, Math.max(0, ...rights) < 1200]).toEqual([view, true]);
  }
  await go('/reports/receipts?range=all');
  await page.locator('tbody tr').nth(60).scrollIntoViewIfNeeded();
  const edges = await page
    .locator('section[aria-label="Receipts"]')
    .evaluate((section) => [
      section.querySelector('thead th')!.getBoundingClientRect().top,
      innerHeight - section.querySelector('tfoot th')!.getBoundingClientRect().bottom,
    ]);
  expect(edges.map(Math.round)).toEqual([0, 0]);
});

it('yesterday’s takings of a clinic, and a month as an Excel file, are a few clicks away', async () => {
  await go('/health');
  await page.getByRole('link', { name: 'Reports', exact: true }).click();
  await page.getByRole('link', { name: 'Takings of yesterday' }).click();
  const [clinic] = await database.rows(
    'select clinic_id as id from reporting.receipts where day = reporting.today() - 1 limit 1',
  );
  await page.getByText('Filter', { exact: true }).click();
  await page.getByRole('combobox', { name: 'Clinic' }).fill(clinic!.id as string);
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.waitForURL(/range=yesterday.*clinic=/);
  const [sum] = await database.rows(
    `select to_char(coalesce(sum(paid_amount), 0), 'FM9999990.00') as paid, count(*)::int as n from reporting.receipts_daily
     where day = reporting.today() - 1 and clinic_id = '${clinic!.id}'`,
  );
  expect(sum!.n).toBeGreaterThan(0);
  const total = page.locator('tfoot [data-head="Paid"]');
  expect((await total.textContent())!.replaceAll(/[₹,]/g, '')).toBe(sum!.paid);

  await go('/reports');
  await page.getByRole('link', { name: 'Receipts of last month' }).click();
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Excel', exact: true }).first().click();
  expect((await downloading).suggestedFilename()).toMatch(/^receipts_\d{4}-\d\d-01_\d{4}-\d\d-\d\d\.xlsx$/);
});

it('dues older than 90 days, and their totals per phone, are two clicks away', async () => {
  await go('/reports');
  await page.getByRole('link', { name: 'Who owes us, the oldest first' }).click();
  await heading('Outstanding receipts');
  await page.getByRole('link', { name: 'over 90 days' }).click();
  expect(await page.getByLabel('Age in days').inputValue()).toBe('over_90');
  await page.getByRole('link', { name: '0 to 7 days' }).click();
  await page.waitForURL(/age=0_to_7/);
  await page.getByRole('link', { name: 'Totals per phone' }).click();
  await heading('Outstanding by phone');
  expect(await page.locator('thead').allTextContents()).not.toContain('mobile');
});

const pages = async () => {
  const [body] = await database.rows('select id from quarantine limit 1');
  const [receipt] = await database.rows(`
    select business_id as business, receipt_id::text as id, v.delivery_id as from, r.delivery_id as to
    from receipts r join receipt_versions v using (business_id, receipt_id) limit 1`);
  const [named] = await database.rows(`
    select left(name, 3) as q from receipts where name ~ '^[A-Za-z]{3}' group by 1 order by count(*) desc limit 1`);
  const { from, to, business, id } = receipt as Record<string, string>;
  const subjects = {
    delivery: madeUp.applied[0]!,
    body: body!.id as string,
    receipt: { business: business!, id: id! },
  };
  const views = [
    'receipts_daily',
    'outstanding_receipts',
    'outstanding_by_phone',
    'receipts_as_of',
    'silence',
  ];
  return [
    ...pagesOf(subjects, views),
    '/deliveries?family=receipt&id=x',
    `/records/receipt?${new URLSearchParams({ ...subjects.receipt, from: from!, to: to! })}`,
    `/search?q=${named!.q}`,
    '/reports/receipts?sort=-net_amount',
    '/reports/appointments?from=2020-01-01&to=2020-01-07',
    '/nothing',
  ];
};

/** Ids that several elements have: a label, or an address, would mean the first of them. */
const duplicateIds = (on: Page) =>
  on.evaluate(() => {
    const ids = Array.from(document.querySelectorAll('[id]'), ({ id }) => id);
    return ids.filter((id, at) => ids.indexOf(id) !== at);
  });

const violationsOf = (on: Page) =>
  on.evaluate(async () => {
    const { axe } = window as unknown as { axe: { run: () => Promise<AxeResults> } };
    const { violations } = await axe.run();
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  });

it.each([
  ['light', 1200],
  ['dark', 1200],
  ['light', 360],
  ['dark', 360],
] as const)(
  'no page has an accessibility violation, an id twice, is wider than its screen, or moves while it arrives: %s, %d wide',
  async (colorScheme, width) => {
    const own = await open({ colorScheme, viewport: { width, height: 780 }, reducedMotion: 'reduce' });
    const visited = await own.newPage();
    const found: Record<string, unknown> = {};
    const check = async (name: string) => {
      const violations = await violationsOf(visited);
      const overflow = await visited.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      const twice = await duplicateIds(visited);
      let moved = await movedOn(visited);
      // A browser that gets a page in pieces may show it in pieces.
      for (let again = 0; moved.length > 0 && again < 3; again += 1) {
        await visited.reload();
        moved = await movedOn(visited);
      }
      if (violations.length > 0 || overflow > 0 || twice.length > 0 || moved.length > 0)
        found[name] = { violations, overflow, twice, moved };
    };
    await visited.goto(`${service.url}/console`);
    await check('sign-in');
    await signIn(visited, service.url, adminToken);
    for (const path of await pages()) {
      await visited.goto(`${service.url}/console${path}`);
      await check(path);
    }
    for (const [from, button] of [
      ['/problems', 'Replay …'],
      ['/problems', 'Drop …'],
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

it('before the first callback Health shows the addresses and a test callback on a phone', async () => {
  const own = await open({ viewport: { width: 360, height: 780 } });
  const phone = await own.newPage();
  await signIn(phone, empty.service.url, adminToken);
  const overflow = await phone.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  expect([await violationsOf(phone), overflow]).toEqual([[], 0]);
  await phone.getByRole('region', { name: 'A test callback from a shell' }).waitFor();
  await own.close();
});

it('no page requested anything of another host, and the browser reported no error', () => {
  const elsewhere = requested.filter(
    (address) => ![service.url, empty.service.url].includes(new URL(address).origin),
  );
  expect(requested.length).toBeGreaterThan(100);
  expect(elsewhere).toEqual([]);
  expect(browserErrors).toEqual([]);
});
