import { readFileSync } from 'node:fs';
import { families } from '../../../src/families/index.ts';
import { deleteDeliveries } from '../../../src/privacy/delete-deliveries.ts';
import { erasePatient } from '../../../src/privacy/erasure/erase.ts';
import { useDatabase } from '../../support/database.ts';
import { apply, clear, erasureTables } from '../../support/deliveries.ts';
import { appointment, day, midnight, readChains, readVisits } from './rescheduled.ts';

const database = useDatabase();
beforeEach(() => clear(database, ...erasureTables));

const visits = (columns: string) => readVisits(database, columns);
const chains = () => readChains(database);
const links = () => database.rows('select earlier_id, later_id from appointment_links order by 1, 2');

it.each([
  ['a list', { prev_aids: ['a1'] }],
  ['a text', { prev_aids: 'a1' }],
  ['a text with spaces around', { prev_aids: ' a1 ' }],
  ['a list among what is no id', { prev_aids: [null, '', {}, ['a9'], true, 'a1', 'a1', 'a2'] }],
  ['custom_attributes', { custom_attributes: { label: ['x'], prev_aids: ['a1'] } }],
])('the appointments before are read from %s', async (_, data) => {
  await apply(database, [appointment('a1', 0), appointment('a2', 1, data)]);
  expect(await chains()).toEqual([{ visit_id: 'a2', first: 'a1', reschedules: 1 }]);
});

it.each([
  ['a text', { next_aid: 'a2' }],
  ['a list', { next_aid: ['a2'] }],
  ['custom_attributes', { custom_attributes: { next_aid: 'a2' } }],
])('the appointment after is read from %s', async (_, data) => {
  await apply(database, [appointment('a1', 0, data), appointment('a2', 1)]);
  expect(await chains()).toEqual([{ visit_id: 'a2', first: 'a1', reschedules: 1 }]);
});

it.each([null, '', [], {}, true, 'x'.repeat(201), 'a1'])(
  '%j links an appointment to no other',
  async (id) => {
    await apply(database, [appointment('a1', 0, { prev_aids: id, next_aid: id })]);
    expect(await links()).toEqual([]);
    expect(await chains()).toEqual([{ visit_id: 'a1', first: 'a1', reschedules: 0 }]);
  },
);

it('a later version without the fields does not take the link back', async () => {
  await apply(database, [appointment('a1', 0), appointment('a2', 1, { prev_aids: ['a1'] })]);
  await apply(database, [appointment('a2', 1, { status: 'CM' }, midnight + 3 * day)]);
  expect(await visits('visit_id, first_appointment_id as first, state')).toEqual([
    { visit_id: 'a2', first: 'a1', state: 'completed' },
  ]);
});

it('a link goes with the last delivery that states it', async () => {
  const stating = (daysLater: number) =>
    appointment('a2', 1, { prev_aids: ['a1'] }, midnight + daysLater * day);
  const [, first, , last] = await apply(database, [
    appointment('a1', 0),
    stating(1),
    appointment('a2', 1, {}, midnight + 2 * day),
    stating(3),
  ]);
  const remove = (id: string) =>
    database.db.transaction().execute((tx) => deleteDeliveries(tx, families, [id], 'deleted'));
  await remove(last!);
  expect(await links()).toEqual([{ earlier_id: 'a1', later_id: 'a2' }]);
  await remove(first!);
  expect(await links()).toEqual([]);
  expect(await chains()).toHaveLength(2);
});

it('an erasure leaves no link that an erased appointment stated', async () => {
  await apply(database, [
    appointment('a1', 0, { next_aid: 'a2', patient_id: 'p1' }),
    appointment('a2', 1, { prev_aids: ['a1'], patient_id: 'p1' }),
    appointment('a3', 1, { prev_aids: ['a0'], patient_id: 'p2' }),
  ]);
  const options = { actor: { id: 'tester' }, keepMs: 0, keepsTotals: true };
  await erasePatient(database.db, families, { id: 'p1' }, options);
  expect(await links()).toEqual([{ earlier_id: 'a0', later_id: 'a3' }]);
  expect(await chains()).toEqual([{ visit_id: 'a3', first: 'a3', reschedules: 1 }]);
});

describe('appointments that a former version has stored', () => {
  const store = () =>
    database.rows(`
      insert into appointments (business_id, appointment_id, client_id, last_event, event_time, extra, custom_attributes,
                                delivery_id, received_at, applied_at)
      select 'b1', id, 'c', 'appointment.created', at, extra, attributes, gen_random_uuid(), now(), now()
      from (values ('a1', now(), '{}'::jsonb, null::jsonb),
                   ('a2', now() + interval '1 day', '{"prev_aids": ["a1"]}', '{"label": ["new"]}'),
                   ('a3', now() + interval '2 days', '{}', '{"prev_aids": "a2"}')) as made (id, at, extra, attributes)`);
  const visit = [{ visit_id: 'a3', first: 'a1', reschedules: 2 }];

  it('are linked by the migration', async () => {
    await database.rows('alter table appointments disable trigger link_appointment');
    await store();
    await database.rows('alter table appointments enable trigger link_appointment');
    expect(await chains()).toHaveLength(3);
    const [insert] = readFileSync('db/migrations/0027_links_of_rows.sql', 'utf8').split(/;$/m);
    // An interrupted migration runs again.
    for (const _ of ['once', 'again']) await database.rows(insert!);
    expect(await chains()).toEqual(visit);
  });

  it('are linked while it still runs beside this one', async () => {
    await store();
    expect(await chains()).toEqual(visit);
  });
});
