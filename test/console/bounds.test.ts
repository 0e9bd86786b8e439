import { receiptCallback } from '../support/callbacks.ts';
import { apply } from '../support/deliveries.ts';
import { useConsole } from './use-console.ts';

const { database, visitor } = useConsole();
const many = 3_000;
beforeAll(async () => {
  await apply(database, [receiptCallback()]);
  await database.rows(`
    insert into applied_deliveries (id, family, business_id, event_time, received_at, applied_at)
    select gen_random_uuid(), 'receipt', 'business-' || n, now(), now(), now() from generate_series(1, ${many}) n`);
  await database.rows(`
    insert into aliases (kind, id, alias, updated_by)
    select 'business', 'business-' || n, 'Lake Road ' || n, 'test' from generate_series(1, ${many}) n`);
});

describe('with thousands of businesses', () => {
  it.each([
    '/today',
    '/health',
    '/deliveries',
    '/aliases',
    '/patients',
    '/reports/receipts',
    '/reports/deliveries_daily',
  ])('page %s stays below a megabyte, and its lists below 201 choices', async (path) => {
    const html = await visitor.read(path);
    expect(html.length).toBeLessThan(1_000_000);
    for (const [list] of html.matchAll(/<datalist.*?<\/datalist>/gs))
      expect(list.match(/<option/g)?.length ?? 0).toBeLessThanOrEqual(200);
  });

  it('the page of aliases still lists clinics and doctors', async () => {
    const html = await visitor.read('/aliases?kind=clinic');
    expect(html).toContain(
      `id="clinic-${(receiptCallback() as { data: { clinic_id: string } }).data.clinic_id}"`,
    );
  });
});

describe('with more bodies in the quarantine than are grouped', () => {
  beforeAll(async () => {
    await database.rows(`
      insert into quarantine (id, path, reason, errors, body, last_received_at)
      select gen_random_uuid(), '/x', 'invalid', jsonb_build_array(jsonb_build_object('path', '', 'message', 'error ' || n % 3)),
             convert_to('body ' || n, 'utf8'), now() - n * interval '1 second'
      from generate_series(1, 10050) n`);
    await database.rows('vacuum analyze quarantine');
  });

  it('the page says of how many of them the counts are', async () => {
    const html = await visitor.read('/problems');
    expect(html).toContain('Counted are the 10,000 bodies last received; there are more.');
    expect(html).not.toContain('were dropped');
  });

  it('what was dropped is shown with its reasons', async () => {
    await database.rows(`insert into dropped_bodies values (current_date, 'invalid', 12345, 1, now())`);
    const html = await visitor.read('/problems');
    expect(html).toContain('Rejected bodies were dropped');
    expect(html).toContain('invalid: 12,345');
  });

  it('all of them are dropped at once, in steps', async () => {
    const done = await visitor.post('/quarantine/drop', { all: 'yes' });
    expect(await done.text()).toContain('10,050 bodies dropped');
    expect(await database.rows('select from quarantine')).toEqual([]);
  });
});

it('a report whose rows take too long says so, with the filters to choose less', async () => {
  const client = await database.pool.connect();
  try {
    await client.query('begin; lock table consent_forms in access exclusive mode');
    const html = await visitor.read('/reports/consent_forms');
    expect(html).toContain('The query timed out, so no rows are shown.');
    expect(html).toContain('name="business"');
  } finally {
    await client.query('rollback');
    client.release();
  }
});
