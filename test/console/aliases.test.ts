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

const save = async (fields: Record<string, string>) => {
  const response = await visitor.post('/aliases', fields);
  return { status: response.status, text: await response.text() };
};
const rows = () => database.rows('select kind, id, alias, updated_by from aliases order by kind, id');
const clinic = `clinic:${data.clinic_id}`;
const doctor = `doctor:${data.doctor_oid}`;

it('all changed names of a page are saved at once, with who changed them, and the page says which', async () => {
  const unchanged = { [`name:business:${business}`]: '', [`was:business:${business}`]: '' };
  const { status, text } = await save({
    ...unchanged,
    [`name:${clinic}`]: ' Lake Road ',
    [`was:${clinic}`]: '',
    [`name:${doctor}`]: 'Dr. Rao',
    [`was:${doctor}`]: '',
    kind: 'clinic',
    id: 'c:9',
    alias: 'North',
    filter: 'kind=clinic',
  });
  expect(status).toBe(200);
  expect(text).toMatch(/Saved: 3 names.*Lake Road.*Dr. Rao.*c:9: “North”/s);
  const by = { updated_by: 'admin-token' };
  const saved = [
    { kind: 'clinic', id: data.clinic_id, alias: 'Lake Road', ...by },
    { kind: 'clinic', id: 'c:9', alias: 'North', ...by },
    { kind: 'doctor', id: data.doctor_oid, alias: 'Dr. Rao', ...by },
  ];
  expect(await rows()).toEqual(expect.arrayContaining(saved));
  // The page is still filtered.
  expect(text).toContain(`id="${`clinic-${data.clinic_id}`}"`);
  expect(text).not.toContain(`id="${`doctor-${data.doctor_oid}`}"`);
  const logged = await database.rows(
    `select filter->>'id' as id, rows from access_log where action = 'aliases' order by entry desc limit 3`,
  );
  expect(logged.map(({ id }) => id).sort()).toEqual(saved.map(({ id }) => id).sort());

  await save({ [`name:${clinic}`]: '', [`was:${clinic}`]: 'Lake Road' });
  expect(await rows()).toHaveLength(2);
});

it('a fault in one name saves none', async () => {
  for (const wrong of [
    { kind: 'patient', id: 'x' },
    { kind: 'clinic', alias: 'without an id' },
    { [`name:${doctor}`]: 'x'.repeat(201) },
  ]) {
    expect((await save({ [`name:${clinic}`]: 'Lake Road', ...wrong })).status).toBe(400);
  }
  expect(await rows()).toEqual([]);
});

it('a name that somebody else has changed meanwhile is not overwritten, and what was entered is not lost', async () => {
  await database.rows(
    `insert into aliases (kind, id, alias, updated_by) values ('clinic', $1, 'South', 'asha')`,
    [data.clinic_id],
  );
  const entries = async () => (await database.rows(`select from access_log where action = 'aliases'`)).length;
  const before = await entries();
  const fields = {
    [`name:${clinic}`]: 'Lake Road',
    [`was:${clinic}`]: '',
    [`name:${doctor}`]: 'Dr. Rao',
    [`was:${doctor}`]: '',
  };
  const { status, text } = await save(fields);
  expect(status).toBe(409);
  expect(text).toContain(`has “South” now, by asha; you entered “Lake Road”`);
  for (const entered of ['Lake Road', 'Dr. Rao']) expect(text).toContain(`value="${entered}"`);
  expect((await rows()).map(({ alias }) => alias)).toEqual(['South']);
  expect(await entries()).toBe(before);
  // The page has shown the other name by now.
  expect((await save({ ...fields, [`was:${clinic}`]: 'South' })).status).toBe(200);
  expect((await rows()).map(({ alias }) => alias)).toEqual(['Lake Road', 'Dr. Rao']);
  // Sent again, nothing is in conflict with itself.
  expect((await save(fields)).status).toBe(200);
});

it('a viewer sees the names and no field', async () => {
  await database.rows(
    `insert into aliases (kind, id, alias, updated_by) values ('clinic', 'c-1', 'Lake Road', 'test')`,
  );
  const viewer = await visitAs(service.url, 'viewer');
  const html = await viewer.read('/aliases');
  expect(html).toContain('Lake Road');
  expect(html).not.toMatch(/name="(alias|name:)/);
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
    await page.getByText('Saved: 1 name').waitFor();
    expect(await field.inputValue()).toBe('North Clinic');
    expect(await field.evaluate((element) => element === document.activeElement)).toBe(true);
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
    await page.goto(`${service.url}/console/deliveries`);
    await page.getByText('North Clinic').first().waitFor();
  } finally {
    await browser.close();
  }
});
