import { coreOf, mergeAll } from '../support/core.ts';
import { deliveryOf, reject } from '../support/intake.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { until } from '../support/until.ts';
import { makeItNoon, openApp, textOf, type Visitor, visitAs } from './support.ts';

const database = useReceiverDatabase('test');
const now = Math.floor(Date.now() / 1000);

const callback = (event: string, data: object, business_id = 'b1') => ({
  ...{ event, event_time: now - 60, business_id },
  data,
});
const receipt = (receipt_id: unknown, data: object = {}, business_id = 'b1') =>
  callback('receipt.created', { receipt_id, ...data }, business_id);

/** Stores callbacks that have arrived so many hours ago, and merges them. @returns their ids */
async function store(callbacks: object[], hoursAgo = 0): Promise<string[]> {
  const arrival = (Date.now() - hoursAgo * 3_600_000 - 1_000) * 1_000;
  const deliveries = callbacks.map((one, index) => deliveryOf(one, arrival + index));
  await database.store(...deliveries);
  await mergeAll(coreOf(database));
  return deliveries.map(({ id }) => id);
}

/** What the page to which a form leads says came of another try. */
async function outcomeOf(visitor: Visitor, { headers }: { headers: Record<string, string> }) {
  const { text } = await visitor.get(headers.location!.replace('/console', '')).expect(200);
  return /<p role="status">([^<]*)/.exec(text)?.[1];
}
const entries = () =>
  database.rows('select action, subjects, filter, rows from public.access_log order by entry');

it('Callbacks counts what arrived in 24 hours, and lists what arrived in the chosen time by its records', async () => {
  const reportTimezone = await makeItNoon(database);
  await store([receipt(1, { receipt_number: 'JA-2671' })]);
  await store([callback('mcert.created', { id: 'c-1' }, 'b2')], 20);
  await store([receipt(3), receipt(4)], 30);
  await reject(database, [receipt('none')]);
  const visitor = await visitAs(openApp(database, { reportTimezone }).app, database, ['viewer']);
  const shown = async (query: string) => textOf((await visitor.get(`/callbacks${query}`).expect(200)).text);
  const today = await shown('');
  expect(today).toContain('3 received in 24 hours 2 applied · 0 waiting · 0 failed · 1 rejected');
  expect(today.match(/\d\d:00: \d, \d failed or rejected/g)).toHaveLength(48);
  expect(today).toContain('12:00: 2, 1 failed or rejected');
  expect(today).toContain('receipt.created JA-2671');
  expect(today).not.toContain('mcert.created');
  const [, record] = /href="\/console(\/records[^"]*)">JA-2671/.exec((await visitor.get('/callbacks')).text)!;
  expect((await visitor.get(record!.replace('&amp;', '&')).expect(200)).text).toContain('Receipt JA-2671');
  expect(await shown('?range=last_7_days')).toContain('mcert.created');
  expect(await shown('?range=last_7_days&business=b2')).not.toContain('JA-2671');
});

it('what failed or was rejected for one cause is looked at, and tried again, at once', async () => {
  const { app } = openApp(database);
  await database.rows('alter table receipts add constraint c check (amount_paid <> 2)');
  await store([receipt(1, { amount_paid: 2 }), receipt(2, { amount_paid: 2 }, 'b2'), receipt(3)]);
  await reject(database, [receipt('none'), receipt('nothing'), { event: 'receipt.created' }]);
  await database.rows(
    `insert into receiver.aliases (kind, id, alias, updated_by) values ('business', 'b1', 'Sunrise', 'x')`,
  );
  const viewer = await visitAs(app, database, ['viewer']);
  const operator = await visitAs(app, database, ['operator']);

  const { text } = await operator.get('/callbacks').expect(200);
  const todo = textOf(/To do.*?<\/table>/s.exec(text)![0]);
  expect(todo).toMatch(/2 failed Receipt: .*23514.* Sunrise and 1 more/);
  expect(todo).toMatch(/2 rejected Receipt: receipt_id .* Sunrise/);
  expect((await viewer.get('/callbacks')).text).not.toContain('Try again');
  const causeOf = (state: string) => new RegExp(`/${state}[^"]*cause=([0-9a-f]{32})`).exec(text)![1]!;
  const [failure, rejection] = [causeOf('callbacks'), causeOf('rejected')];
  const rowsOf = async (path: string) => (await viewer.get(path).expect(200)).text.match(/<tr/g)!.length - 2;
  expect(await rowsOf(`/callbacks?range=all&state=failed&cause=${failure}`)).toBe(2);
  expect(await rowsOf(`/rejected?cause=${rejection}`)).toBe(2);

  await viewer.post('/callbacks/again', { cause: failure }).expect(403);
  await database.rows('alter table receipts drop constraint c');
  const again = await operator.post('/callbacks/again', { cause: failure }).expect(303);
  expect(await outcomeOf(operator, again)).toBe('2 waiting for a worker.');
  await mergeAll(coreOf(database));
  expect(await database.rows('select receipt_id from receipts order by 1')).toHaveLength(3);

  const repaired = `convert_to(replace(convert_from(body, 'UTF8'), '"none"', '9'), 'UTF8')`;
  await database.rows(`update receiver.quarantine set body = ${repaired}`);
  const tried = await operator.post('/callbacks/again', { cause: rejection }).expect(303);
  expect(await outcomeOf(operator, tried)).toMatch(
    /^1 (accepted|rejected again), 1 (accepted|rejected again)\.$/,
  );
  expect(await rowsOf('/rejected')).toBe(2);
  await mergeAll(coreOf(database));
  expect(await database.rows('select receipt_id from receipts where receipt_id = 9')).toHaveLength(1);
  expect((await entries()).map(({ action }) => action)).toEqual(['replay', 'quarantine replay']);
});

it('messages of a business of which nothing was accepted are listed alone, and a cause is no text', async () => {
  await reject(database, [receipt('none', {}, 'stranger'), receipt('none')]);
  const operator = await visitAs(openApp(database).app, database, ['operator']);
  const { text } = await operator.get('/rejected?business=stranger').expect(200);
  expect(text).toContain('<b>1</b> message');
  await operator.post('/callbacks/again', { cause: 'Asha Rao' }).expect(400);
  expect(await entries()).toEqual([]);
  await operator.get('/callbacks?from=1900-01-01&to=2999-12-31').expect(200);
  await operator.get('/callbacks?again=2 words').expect(400);
});

it('a rejected message is tried again, and says what came of it', async () => {
  const [id] = await reject(database, [receipt('CANARY', { name: 'Asha', net_amount: 12.5 })]);
  const officer = await visitAs(openApp(database).app, database, ['operator', 'desk']);
  expect((await officer.get(`/rejected/${id}`).expect(200)).text).toContain(
    '&quot;receipt_id&quot;: &quot;CANARY&quot;',
  );
  const refused = await officer.post(`/rejected/${id}/again`).expect(303);
  expect(await outcomeOf(officer, refused)).toMatch(/^Rejected again: receipt_id must be a whole number/);
  const repaired = `convert_to(replace(convert_from(body, 'UTF8'), '"CANARY"', '8'), 'UTF8')`;
  await database.rows(`update receiver.quarantine set body = ${repaired}`);
  const accepted = await officer.post(`/rejected/${id}/again`).expect(303);
  const [callback] = await database.rows('select id from receiver.inbox');
  expect(await outcomeOf(officer, accepted)).toBe(`Accepted: it is now callback ${callback!.id}.`);
  expect((await officer.get(`/callbacks/${callback!.id}`).expect(200)).text).toContain('Asha');
  expect((await officer.get('/rejected')).text).toContain('Nothing matches');
  await officer.post(`/rejected/${id}/again`).expect(400);
});

it('a callback that failed is tried again, and says what came of it', async () => {
  const { app, core } = openApp(database);
  const [id] = await store([receipt(1)]);
  const operator = await visitAs(app, database, ['operator']);
  await database.rows('delete from receipts');
  await database.rows('alter table receipts add constraint c check (receipt_id <> 1)');
  const isDue = () => database.count(`receiver.pending_deliveries where next_at < 'infinity'`);
  const again = async () => {
    const answer = operator.post(`/callbacks/${id}/again`).expect(303);
    const [tried] = await Promise.all([answer, until(isDue).then(() => mergeAll(core))]);
    return outcomeOf(operator, tried);
  };
  expect(await again()).toBe('Failed again.');
  await database.rows('alter table receipts drop constraint c');
  expect(await again()).toBe('Applied.');
});

it('pages of the list of all days follow each other without a gap', async () => {
  const ids = await store(Array.from({ length: 230 }, (_, n) => receipt(n)));
  const older = await store([receipt(1000)], 24 * 40);
  const visitor = await visitAs(openApp(database).app, database, ['viewer']);
  const listed: string[] = [];
  let next: string | undefined = '/callbacks?range=all';
  while (next) {
    const { text }: { text: string } = await visitor.get(next).expect(200);
    listed.push(...Array.from(text.matchAll(/<a href="\/console\/callbacks\/([^"]+)"/g), ([, id]) => id!));
    next = /<a href="\/console([^"]+)">Next/.exec(text)?.[1]?.replaceAll('&amp;', '&');
  }
  expect(listed).toEqual([...ids.toReversed(), ...older]);
});
