import { insertDeliveries } from '../../src/receiver/store/insert-deliveries.ts';
import { openApp, visitAs } from '../console/support.ts';
import { coreOf, mergeAll } from '../support/core.ts';
import { deliveryOf, openIntake, routeOf } from '../support/intake.ts';
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
  const [receipt, account] = deliveries.map(({ id }) => id);
  const rejected = JSON.stringify(
    callback('receipt.created', { receipt_id: 'CANARY', patient_oid: 'CANARY-P' }),
  );
  const intake = openIntake(database);
  await expect(intake.receive(Buffer.from(rejected), routeOf('receipt'))).rejects.toThrow();
  await intake.close();
  const [{ id: body }] = (await database.rows('select id from receiver.quarantine')) as [{ id: string }];

  const pages = ['/records/receipt?business=b1&id=7', `/records/health_account?business=b1&id=${account}`];
  const others = [
    `/deliveries/${receipt}`,
    `/deliveries/${account}`,
    `/quarantine/${body}`,
    '/deliveries',
    '/quarantine',
  ];
  for (const role of ['viewer', 'operator'] as const) {
    const visitor = await visitAs(app, database, [role]);
    for (const page of [
      ...pages,
      ...others,
      '/search?q=7',
      '/search?q=9876543210',
      '/search?q=CANARY',
      '/search?q=a-1',
    ]) {
      const { status, text } = await visitor.get(page);
      expect([page, status]).toEqual([page, 200]);
      // The field of the search has what was asked for.
      expect(text.replaceAll(/<input[^>]*>/g, '')).not.toMatch(/CANARY|9876543210|CONTENT/);
    }
    for (const page of ['/records/receipt', `/deliveries/${receipt}`, `/quarantine/${body}`])
      expect((await visitor.post(`${page}/personal`, { business: 'b1', id: '7' })).status).toBe(403);
  }
  expect(await entries()).toEqual([]);

  const desk = await visitAs(app, database, ['desk']);
  const shown = [
    await desk.post('/records/receipt/personal', { business: 'b1', id: '7' }),
    await desk.post('/records/health_account/personal', { business: 'b1', id: account! }),
    await desk.post(`/deliveries/${account}/personal`),
    await desk.post(`/quarantine/${body}/personal`),
    await desk.get('/search?q=987+654+3210'),
  ];
  for (const { text } of shown) expect(text).toContain('CANARY');
  for (const { text } of shown) expect(text).not.toContain('CONTENT');
  const written = await entries();
  expect(written.map(({ action }) => action)).toEqual(['reveal', 'reveal', 'reveal', 'body', 'search']);
  // The receipt names nobody: it belongs to the patient of its appointment.
  for (const { subjects } of written) expect(subjects).not.toEqual([]);
  expect(JSON.stringify(written)).not.toMatch(/CANARY|9876543210/);

  const privacy = await visitAs(app, database, ['privacy', 'operator']);
  expect((await privacy.post(`/quarantine/${body}/body`, { body: rejected })).status).toBe(422);
  const refused = await privacy.post(`/quarantine/${body}/replay`);
  expect(refused.text).toContain('nothing was changed');
  expect(refused.text).not.toContain('CANARY');
  const corrected = rejected.replace('"CANARY"', '8');
  const accepted = await privacy.post(`/quarantine/${body}/body`, { body: corrected });
  expect([accepted.status, accepted.headers.location]).toEqual([
    303,
    expect.stringContaining('/deliveries/'),
  ]);
  expect((await privacy.post('/deliveries/replay', { id: receipt! })).status).toBe(303);
  expect(await database.rows('select family from receiver.pending_deliveries')).toHaveLength(2);
  expect((await privacy.get('/quarantine')).text).toContain('No rejected bodies');
  await privacy.post(`/quarantine/${body}/drop`);
  expect((await privacy.get(`/quarantine/${body}`)).status).toBe(404);
});
