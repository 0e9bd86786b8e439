import { readFile } from 'node:fs/promises';
import type { Browser, BrowserContext, Download, Page } from 'playwright-core';
import { periodBefore } from '../../src/reports/periods.ts';
import { past, pastAliases } from '../../src/sandbox/past/past.ts';
import { changeAliases } from '../../src/store/aliases.ts';
import { updateTerms } from '../../src/store/search-terms.ts';
import { appointmentCallback, receiptCallback } from '../support/callbacks.ts';
import type { TestDatabase } from '../support/database.ts';
import { apply, setTimes } from '../support/deliveries.ts';
import { openBrowser, signIn } from './browser.ts';
import { type Keyboard, useKeyboard } from './keyboard.ts';
import { useConsole } from './use-console.ts';
import { adminToken } from './visitor.ts';

const dayMs = 86_400_000;
const days = 62;
const mostKeys = 40;
const minute = 60_000;

const { database, service } = useConsole({
  prepare: async (own) => {
    await makePast(own);
    return {};
  },
});
let browser: Browser;
/** What each task took. */
const table: string[] = [];

beforeAll(async () => {
  browser = await openBrowser();
}, 5 * minute);
afterAll(async () => {
  await browser?.close();
  process.stdout.write(`${['width  clicks  keys  task', ...table].join('\n')}\n`);
});

/** Two months of the sandbox's clinics, as if they had come at the time of their events, with names. */
async function makePast(own: TestDatabase): Promise<void> {
  const until = Date.now();
  const options = { seed: 1, start: until - days * dayMs, duration: days * dayMs, until };
  const families = ['receipt', 'appointment'] as never;
  const bodies = [...past({ ...options, families })].map(({ body }) => JSON.parse(String(body)));
  for (let at = 0; at < bodies.length; at += 500) await apply(own, bodies.slice(at, at + 500));
  // A day on which clinics are closed has no other.
  const inADay = Math.floor((until + dayMs) / 1000);
  await apply(own, [appointmentCallback({ data: { start_time: inADay, prev_aids: [], next_aid: '' } })]);
  const at = '(select event_time from inbox i where i.id = t.id)';
  await setTimes(own, { received_at: at, applied_at: at });
  for (const records of ['receipts', 'appointments'])
    await own.pool.query(`update ${records} set received_at = event_time, applied_at = event_time`);
  await own.pool.query('vacuum analyze');
  const names = pastAliases(options.seed).trim().split('\n').slice(1);
  const changes = names.map((line) => line.split(',') as [never, string, string]);
  await changeAliases(
    own.db,
    changes.map(([kind, id, alias]) => ({ kind, id, alias })),
    'import',
  );
  while ((await updateTerms(own.db)).hasMore);
}

const row = async (query: string, values: unknown[] = []) => (await database.rows(query, values))[0]!;
const amountOf = (text: string | null) => Number(text!.replaceAll(/[₹,+]/g, '').replace('−', '-'));

describe.each([1200, 360])('at %i px, by keyboard', (width) => {
  let context: BrowserContext;
  let page: Page;
  let keyboard: Keyboard;

  beforeAll(async () => {
    context = await browser.newContext({ viewport: { width, height: 780 }, acceptDownloads: true });
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    page = await context.newPage();
    await signIn(page, service.url, adminToken);
  });
  afterAll(() => context?.close());

  beforeEach(async () => {
    await page.goto(`${service.url}/console/today`);
    keyboard = useKeyboard(page);
  });
  afterEach(async () => {
    const { clicks, keys } = keyboard.taken;
    const [, task] = expect.getState().currentTestName!.split('by keyboard ');
    table.push([width, clicks, keys].map((one) => String(one).padEnd(7)).join('') + task);
    expect([task, keys <= mostKeys]).toEqual([task, true]);
    // Charts are fitted again after a print.
    await page.waitForFunction((wanted) => document.documentElement.scrollWidth === wanted, width);
  });

  /** The whole page: the content of some comes after their titles. */
  const heading = async (name: string | RegExp) => {
    await page.getByRole('heading', { level: 1, name }).waitFor();
    await page.waitForLoadState();
  };
  const link = (name: string | RegExp) =>
    page.locator('main').getByRole('link', { name, exact: typeof name === 'string' });
  const button = (name: string | RegExp) => page.locator('main').getByRole('button', { name });
  const list = (name: string) => page.getByRole('table', { name, exact: true });

  /** Net amounts of this month and of the same days of last month, of each doctor. */
  async function changes() {
    const { today } = await row('select reporting.today()::text as today');
    const now = { from: `${String(today).slice(0, 8)}01`, to: String(today) };
    const before = periodBefore(now, 'previous_period');
    return database.rows(
      `select a.alias as doctor, coalesce(sum(net_amount) filter (where day between $1 and $2), 0)::float as now,
         coalesce(sum(net_amount) filter (where day between $3 and $4), 0)::float as before
       from reporting.receipts_daily left join aliases a on a.kind = 'doctor' and a.id = doctor_id
       where day between $1 and $2 or day between $3 and $4
       group by 1 order by 2`,
      [now.from, now.to, before.from, before.to],
    );
  }

  it('this month against last, by doctor', async () => {
    await keyboard.goTo('e', 'Reports');
    await keyboard.skip();
    await keyboard.open(link('This month against last, by doctor'));
    await heading('Receipts per day');
    const shown = list('Receipts per day by doctor');
    const found = await changes();
    expect(found.length).toBeGreaterThan(5);
    for (const { doctor, now, before } of found) {
      const line = shown.locator('tbody tr').filter({ hasText: String(doctor) });
      const change = await line.locator('[data-head="Change"]').textContent();
      expect([doctor, amountOf(change)]).toEqual([doctor, expect.closeTo(Number(now) - Number(before), 2)]);
    }
  });

  it('who fell most', async () => {
    await keyboard.goTo('e', 'Reports');
    await keyboard.skip();
    await keyboard.open(link('Who fell most this month'));
    await heading('Receipts per day');
    const lines = list('Receipts per day by doctor').locator('tbody tr');
    const [worst] = (await changes())
      .map(({ doctor, now, before }) => ({ doctor, change: Number(now) - Number(before) }))
      .toSorted((one, other) => one.change - other.change);
    expect(await lines.first().textContent()).toContain(worst!.doctor);
  });

  it('print a day’s receipts', async () => {
    const { day, receipts } = await row(
      `select day::text, count(*)::int as receipts from reporting.receipts where day < reporting.today()
       group by 1 order by 2 desc, 1 limit 1`,
    );
    const [year, month, date] = String(day).split('-');
    await keyboard.goTo('r', 'Receipts');
    await keyboard.skip();
    await keyboard.open(page.locator('details summary', { hasText: 'Filter' }));
    for (const name of ['From', 'To']) {
      await keyboard.tabTo(page.getByLabel(name, { exact: true }));
      await keyboard.type(`${month}${date}${year}`);
    }
    await keyboard.press('Enter');
    await page.waitForURL(new RegExp(`from=${day}`));
    await keyboard.press('Control+p');
    await page.emulateMedia({ media: 'print' });
    const rows = list('Receipts').locator('tbody tr');
    expect([
      await rows.count(),
      await page.getByRole('navigation', { name: 'Sections' }).isVisible(),
    ]).toEqual([receipts, false]);
    expect((await page.pdf()).length).toBeGreaterThan(1_000);
    await page.emulateMedia({ media: 'screen' });
  });

  /** One who came often, still has an appointment, and is the only one whose phone number ends so. */
  const patientOfTask = () =>
    row(
      `select r.patient_oid as id, max(mobile) as mobile, count(*)::int as receipts, sum(amount_paid)::text as paid,
         sum(amount_due)::text as due from receipts r
       where deleted_at is null and mobile <> '' and exists (
         select from appointments a where a.patient_id = r.patient_oid and a.status = 'BK')
         and not exists (
           select from receipts o where right(o.mobile, 6) = right(r.mobile, 6) and o.patient_oid <> r.patient_oid)
       group by 1 order by 3 desc, 1 limit 1`,
    );

  async function findPatient() {
    const patient = await patientOfTask();
    await keyboard.search(String(patient.mobile).slice(-6));
    await keyboard.skip();
    await keyboard.open(button('Show the patient'));
    await heading('Patient');
    return patient;
  }

  it('all receipts of a patient, and their sum', async () => {
    const { receipts, paid } = await findPatient();
    const facts = await page.locator('dl').first().textContent();
    expect(amountOf(/Paid(₹[\d,.]+)/.exec(facts!)![1]!)).toBe(Number(paid));
    expect(await list('Receipts').locator('tbody tr').count()).toBeGreaterThanOrEqual(Number(receipts));
  });

  it('duplicates', async () => {
    await keyboard.goTo('e', 'Reports');
    await keyboard.skip();
    await keyboard.open(link(/^Duplicate/));
    await heading(/^Duplicate/);
    expect(await page.locator('main tbody tr').count()).toBeGreaterThan(1);
  });

  it('what changed since the last download', async () => {
    const download = async (part?: RegExp): Promise<Download> => {
      await keyboard.goTo('r', 'Receipts');
      await keyboard.skip();
      await keyboard.open(page.locator('.download summary'));
      if (part) {
        await keyboard.tabTo(page.getByRole('radio').first());
        while (!(await page.getByRole('radio', { name: part }).isChecked()))
          await keyboard.press('ArrowDown');
      }
      const downloading = page.waitForEvent('download');
      await keyboard.open(button(/^CSV/));
      return downloading;
    };
    const linesOf = async (file: Download) =>
      (await readFile(await file.path(), 'utf8')).trim().split('\r\n').length - 1;
    const { receipts } = await row(
      'select count(*)::int as receipts from reporting.receipts where day > reporting.today() - 30',
    );
    const all = await download();
    expect(await linesOf(all)).toBe(receipts);
    await apply(database, [receiptCallback({ data: { receipt_id: 700_000 + width } })]);
    const changed = await download(/Only what changed since/);
    expect(await linesOf(changed)).toBeLessThan(5);
    expect(changed.suggestedFilename()).not.toBe(all.suggestedFilename());
    expect(await readFile(await changed.path(), 'utf8')).toContain(String(700_000 + width));
  });

  it('appointments of tomorrow', async () => {
    await keyboard.goTo('e', 'Reports');
    await keyboard.skip();
    await keyboard.open(link('Appointments of tomorrow'));
    await heading('Schedule');
    const { appointments } = await row(
      'select count(*)::int as appointments from reporting.schedule where day = reporting.today() + 1',
    );
    const lines = list('Schedule').locator('tbody tr');
    expect(await lines.count()).toBe(appointments);
    const shown = await lines
      .first()
      .locator('[data-head]')
      .evaluateAll((cells) => cells.map((cell) => cell.getAttribute('data-head')));
    expect(shown.slice(0, 5)).toEqual(['Starts', 'Doctor', 'Clinic', 'Business', 'State']);
  });

  it('who looked at a patient', async () => {
    await findPatient();
    await keyboard.skip();
    await keyboard.open(link('All entries about this patient'));
    await heading('Access log');
    expect(await page.locator('main tbody tr').first().textContent()).toContain('admin-token');
  });

  it('a chart copied into a mail', async () => {
    await keyboard.goTo('e', 'Reports');
    await keyboard.skip();
    await keyboard.open(link('This month against last, by doctor'));
    await heading('Receipts per day');
    await keyboard.skip();
    await keyboard.skipFilters();
    await keyboard.open(button('Copy picture'));
    await page.getByRole('status').filter({ hasText: 'Copied.' }).waitFor();
    const mail = await context.newPage();
    await mail.setContent('<div contenteditable></div>');
    await mail.locator('div').focus();
    await mail.keyboard.press('Control+v');
    await keyboard.press('Control+v');
    await mail.locator('div img').waitFor({ state: 'attached' });
    expect(
      await mail
        .locator('img')
        .evaluate((img: HTMLImageElement) => img.decode().then(() => img.naturalWidth)),
    ).toBeGreaterThan(200);
    await mail.close();
    await page.bringToFront();
  });

  it('an appointment by phone', async () => {
    const patient = await patientOfTask();
    await keyboard.search(String(patient.mobile).slice(-6));
    await keyboard.skip();
    await keyboard.open(list('Appointments').getByRole('link'));
    await heading(/Appointment/);
    expect(
      await row('select count(*)::int as n from appointments where patient_id = $1 and appointment_id = $2', [
        patient.id,
        new URL(page.url()).searchParams.get('id'),
      ]),
    ).toEqual({ n: 1 });
  });

  it('takings of a clinic, by its name', async () => {
    await keyboard.search('Koramangala');
    await heading('Receipts');
    const { paid } = await row(
      `select sum(paid_amount)::text as paid from reporting.receipts_daily join aliases on kind = 'clinic' and id = clinic_id
       where alias = 'Sunrise Koramangala' and day > reporting.today() - 30`,
    );
    expect(amountOf(await page.locator('tfoot [data-head="Paid"]').textContent())).toBe(Number(paid));
  });
});
