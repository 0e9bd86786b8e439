import { insertDeliveries } from '../../src/receiver/store/insert-deliveries.ts';
import { openApp, visitAs } from '../console/support.ts';
import { coreOf, mergeAll } from '../support/core.ts';
import { deliveryOf } from '../support/intake.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';

const database = useReceiverDatabase();
const now = Math.floor(Date.now() / 1000);
const callback = (event: string, data: object) => ({ event, event_time: now - 60, business_id: 'b1', data });
const entries = () =>
  database.rows('select action, subjects, filter, rows from public.access_log order by entry');

it('pages show personal data to those who may see it, once an entry of the access log is written', async () => {
  const { app } = openApp(database);
  const deliveries = [
    callback('receipt.created', {
      receipt_id: 7,
      name: 'CANARY',
      mobile: '9876543210',
      aid: 'a-1',
      CANARY: 1,
    }),
    callback('abha.created', { abha_address: 'CANARY@abdm', oid: 'CANARY-P', entries: 'CONTENT' }),
    callback('appointment.created', { appointment_id: 'a-1', patient_id: 'CANARY-P' }),
  ].map((one) => deliveryOf(one));
  await insertDeliveries(database.pool, deliveries, 60_000);
  await mergeAll(coreOf(database));
  const account = deliveries[1]!.id;
  const pages = ['/records/receipt?business=b1&id=7', `/records/health_account?business=b1&id=${account}`];
  for (const role of ['viewer', 'operator'] as const) {
    const visitor = await visitAs(app, database, [role]);
    const searches = ['7', '9876543210', 'CANARY', 'a-1'].map((text) => `/search?q=${text}`);
    for (const page of [...pages, ...searches]) {
      const { status, text } = await visitor.get(page);
      // A search opens the only record that it finds.
      expect([page, [200, 303]]).toEqual([page, expect.arrayContaining([status])]);
      // The field of the search has what was asked for.
      expect(text.replaceAll(/<input[^>]*>/g, '')).not.toMatch(/CANARY|9876543210|CONTENT/);
    }
  }
  expect(await entries()).toEqual([]);

  const desk = await visitAs(app, database, ['desk']);
  const shown = [await desk.get(pages[0]!), await desk.get(pages[1]!)];
  await desk.get('/search?q=987+654+3210').expect(303);
  for (const { text } of shown) expect(text).toContain('CANARY');
  for (const { text } of shown) expect(text).not.toContain('CONTENT');
  const written = await entries();
  expect(written.map(({ action }) => action)).toEqual(['reveal', 'reveal', 'search']);
  // The receipt names nobody: it belongs to the patient of its appointment.
  for (const { subjects } of written) expect(subjects).not.toEqual([]);
  expect(JSON.stringify(written)).not.toMatch(/CANARY|9876543210/);
});
