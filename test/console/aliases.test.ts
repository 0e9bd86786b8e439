import { receiptCallback } from '../support/callbacks.ts';
import { apply } from '../support/deliveries.ts';
import { openBrowser, signIn } from './browser.ts';
import { useConsole } from './use-console.ts';
import { adminToken, visitAs } from './visitor.ts';

const { database, service, visitor } = useConsole();
const { business_id: business, data } = receiptCallback() as {
  business_id: string;
  data: { clinic_id: string; doctor_oid: string };
};
beforeAll(async () => {
  await apply(database, [receiptCallback()]);
});
beforeEach(() => database.rows('truncate aliases'));

/** The ids that a page lists, by kind. */
async function idsOf(query = ''): Promise<string[]> {
  const html = await visitor.read(`/aliases${query}`);
  return Array.from(html.matchAll(/<span class="id" id="([^"]*)"/g), ([, id]) => id!);
}

it('lists the ids of recent data and those with a name, and filters them', async () => {
  const all = [`business-${business}`, `clinic-${data.clinic_id}`, `doctor-${data.doctor_oid}`];
  expect(await idsOf()).toEqual(all);
  await database.rows(
    `insert into aliases (kind, id, alias, updated_by) values ('doctor', 'd 1', '100% <Rao>', 'test')`,
  );
  expect(await idsOf()).toEqual([...all, 'doctor-d 1'].sort());
  expect(await idsOf('?kind=doctor&text=0%25+%3Cr')).toEqual(['doctor-d 1']);
  expect(await idsOf('?text=_')).toEqual([]);
});

const save = (fields: Record<string, string>) => visitor.post('/aliases', fields);
const rows = () => database.rows('select kind, id, alias, updated_by from aliases order by kind, id');
const clinic = { kind: 'clinic', id: data.clinic_id };

it('a name is saved, with who changed it; the last one wins, and an empty one removes it', async () => {
  const saved = await save({ ...clinic, alias: ' Lake Road ', filter: 'kind=clinic' });
  expect([saved.status, saved.headers.get('location')]).toEqual([
    303,
    `/console/aliases?kind=clinic#clinic-${clinic.id}`,
  ]);
  expect(await rows()).toEqual([{ ...clinic, alias: 'Lake Road', updated_by: 'admin-token' }]);
  expect(
    await database.rows(`select filter, rows from access_log where action = 'aliases' order by entry desc`),
  ).toEqual([{ filter: clinic, rows: '1' }]);
  await database.rows(`update aliases set alias = 'South', updated_by = 'asha'`);
  await save({ ...clinic, alias: 'Lake Road' });
  expect(await rows()).toEqual([{ ...clinic, alias: 'Lake Road', updated_by: 'admin-token' }]);
  await save({ ...clinic, alias: '' });
  expect(await rows()).toEqual([]);
});

it('a name with a fault is not saved', async () => {
  for (const wrong of [{ kind: 'patient' }, { kind: '' }, { id: '' }, { alias: 'x'.repeat(201) }])
    expect((await save({ ...clinic, alias: 'Lake Road', ...wrong })).status).toBe(400);
  expect(await rows()).toEqual([]);
});

it('a viewer sees the names and no field', async () => {
  await database.rows(
    `insert into aliases (kind, id, alias, updated_by) values ('clinic', 'c-1', 'Lake Road', 'test')`,
  );
  const viewer = await visitAs(service.url, 'viewer');
  const html = await viewer.read('/aliases');
  expect(html).toContain('Lake Road');
  expect(html).not.toContain('name="alias"');
});

it('on a phone, a name is given with the keyboard, and the lists show it', async () => {
  const browser = await openBrowser();
  try {
    const page = await browser.newPage({ viewport: { width: 390, height: 780 } });
    await signIn(page, service.url, adminToken);
    await page.goto(`${service.url}/console/aliases`);
    await page.getByLabel('Id or name').focus();
    await page.keyboard.type(business);
    await page.keyboard.press('Enter');
    await page.waitForURL(/text=/);
    const field = page.getByLabel(`Name of business ${business}`);
    await field.focus();
    await page.keyboard.type('North Clinic');
    await page.keyboard.press('Enter');
    await page.waitForURL(/text=.*#business-/);
    expect(await field.inputValue()).toBe('North Clinic');
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
    await page.goto(`${service.url}/console/deliveries`);
    await page.getByText('North Clinic').first().waitFor();
  } finally {
    await browser.close();
  }
});
