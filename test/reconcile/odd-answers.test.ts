import { readWindow } from '../../src/reconcile/read-window.ts';
import type { Reader } from '../../src/reconcile/reader.ts';
import { appointmentCallback } from '../support/callbacks.ts';
import { insertCallbacks } from '../support/deliveries.ts';
import { business, listedAppointments, noon } from '../support/listed-appointments.ts';
import { useReconciliation } from './use-reconciliation.ts';

const { database, pass, applyAll, rowsNow, platformNow, numberOf } = useReconciliation();

type Simulated = ReturnType<typeof listedAppointments>;

/** Two more passes change nothing. */
async function expectNoChange(simulated: Simulated) {
  const deliveries = await numberOf('inbox');
  for (let passes = 0; passes < 2; passes++) {
    const { counts } = await pass(simulated);
    expect(counts).toMatchObject({ missing: 0, differs: 0, busy: 0 });
    await applyAll();
  }
  expect(await numberOf('inbox')).toBe(deliveries);
}

it('an appointment without a status, with an unknown one, or with times in any spelling comes in once', async () => {
  const simulated = listedAppointments();
  const iso = (seconds: number) => new Date(seconds * 1000).toISOString();
  simulated.book(0, { status: null as never });
  simulated.book(1, { status: 'ODD' });
  simulated.book(2, { created_at: (noon * 1000) as never, end_time: noon * 1000 });
  simulated.book(3, { created_at: iso(noon) as never });
  simulated.book(4, { status: 7 as never, mode: {} });
  expect(await pass(simulated)).toMatchObject({ counts: { missing: 5, filled: 5 } });
  await applyAll();
  expect(await rowsNow()).toMatchObject([
    { status: null, created_at: expect.any(Number) },
    { status: 'ODD' },
    { created_at: noon },
    { created_at: noon },
    { status: null },
  ]);
  await expectNoChange(simulated);
});

it('an appointment that a page has twice comes in once, as the later one says', async () => {
  const simulated = listedAppointments();
  simulated.book(0);
  simulated.listed.push({ ...simulated.listed[0]!, status: 'CK' });
  expect(await pass(simulated)).toMatchObject({ counts: { missing: 1, filled: 1 } });
  await applyAll();
  expect(await rowsNow()).toMatchObject([{ status: 'CK' }]);
  await expectNoChange(simulated);
});

it('a list that repeats a page ends; one that has no last page is an error', async () => {
  const simulated = listedAppointments();
  for (let day = 0; day < 3; day++) simulated.book(day);
  const { appointmentsPage } = simulated.platform;
  simulated.platform.appointmentsPage = (from, to) => appointmentsPage(from, to, 0);
  expect(await pass(simulated)).toMatchObject({ counts: { missing: 3, filled: 3 } });

  const page: Reader['page'] = async (_from, _to, pageNo) => {
    const appointments = [{ appointment_id: `endless-${pageNo}` }];
    return { appointments, isLast: false, askedAt: new Date(), askedSince: new Date() };
  };
  const window = { from: '2026-06-01', to: '2026-06-07' };
  const reading = readWindow({ page } as Reader, window, [], [], async () => {});
  await expect(reading).rejects.toThrow('no last page');
});

it.each([600, -600])('a clock that is %i s ahead overwrites nothing newer', async (ahead) => {
  const simulated = listedAppointments(Math.floor(Date.now() / 1000));
  const { appointmentsPage, appointment } = simulated.platform;
  const shift = <T extends { answeredAt: Date }>(answer: T) => ({
    ...answer,
    answeredAt: new Date(answer.answeredAt.getTime() + ahead * 1000),
  });
  simulated.platform.appointmentsPage = async (...asked) => shift(await appointmentsPage(...asked));
  simulated.platform.appointment = async (id) => {
    const found = await appointment(id);
    return found && shift(found);
  };
  simulated.book(0);
  await insertCallbacks(database, [simulated.book(1)]);
  await applyAll();
  await pass(simulated);
  await applyAll();
  await insertCallbacks(database, [simulated.change(0, 'OG'), simulated.change(0, 'CK')]);
  await applyAll();
  expect(await rowsNow()).toEqual(platformNow(simulated));
  await expectNoChange(simulated);
});

it('a row whose id cannot be asked for is reported, and stops nothing', async () => {
  const simulated = listedAppointments();
  simulated.book(0);
  await insertCallbacks(database, [
    appointmentCallback({
      business_id: business,
      event_time: noon,
      data: { appointment_id: '..', created_at: noon },
    }),
  ]);
  await applyAll();
  expect(await pass(simulated)).toMatchObject({ counts: { missing: 1, filled: 1, unknown: 1 } });
});

it('the links of a reschedule, which a list does not tell, come in by reads of the single appointment', async () => {
  const simulated = listedAppointments();
  const unlinked = { prev_aids: null, next_aid: null };
  const told = [0, 1].map((day) => {
    const callback = simulated.book(day);
    return { ...callback, data: { ...callback.data, ...unlinked } };
  });
  simulated.book(2);
  const [never, second, first] = simulated.listed;
  Object.assign(first!, { status: 'RES', next_aid: second!.appointment_id });
  Object.assign(second!, { status: 'RE', next_aid: never!.appointment_id });
  await insertCallbacks(database, told);
  await applyAll();
  expect(await pass(simulated)).toMatchObject({ counts: { differs: 2, missing: 1, filled: 3 } });
  await applyAll();
  expect(await database.rows('select reschedules from reporting.visits')).toEqual([{ reschedules: 2 }]);
  await expectNoChange(simulated);

  // One that leads nowhere, or to something that is no appointment, is told once.
  Object.assign(never!, { status: 'RED', next_aid: never!.appointment_id });
  simulated.book(3, { status: 'RES' });
  await pass(simulated);
  await applyAll();
  await expectNoChange(simulated);
});
