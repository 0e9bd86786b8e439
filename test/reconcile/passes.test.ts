import fc from 'fast-check';
import { addDays } from '../../src/common/days.ts';
import { clear, insertCallbacks } from '../support/deliveries.ts';
import { listedAppointments } from '../support/listed-appointments.ts';
import { tables, useReconciliation } from './use-reconciliation.ts';

const { database, pass, applyAll, rowsNow, platformNow, numberOf } = useReconciliation();

it('what no callback told of comes in, what differs is changed, and what agrees is left alone', async () => {
  const simulated = listedAppointments();
  const callbacks = [0, 1, 2, 3].map((day) => simulated.book(day));
  simulated.change(0, 'CM');
  await insertCallbacks(database, callbacks.slice(1));
  await applyAll();

  expect(await pass(simulated, { dryRun: true })).toMatchObject({
    missing: 1,
    differs: 1,
    agrees: 2,
    filled: 0,
  });
  expect(await numberOf('inbox')).toBe(3);
  expect(await pass(simulated)).toMatchObject({ missing: 1, differs: 1, agrees: 2, filled: 2 });
  await applyAll();
  expect(await rowsNow()).toEqual(platformNow(simulated));
  // A read has few fields: the others stay.
  const [row] = await database.rows(
    `select custom_attributes, last_event from appointments where status = 'CM'`,
  );
  expect(row).toEqual({ custom_attributes: { label: ['new'] }, last_event: 'appointment.reconciled' });
});

it('an appointment is counted once, also where two windows list it and where the platform repeats its pages', async () => {
  const simulated = listedAppointments();
  for (let day = 5; day < 9; day++) simulated.book(day);
  const { appointmentsPage } = simulated.platform;
  // Its ranges include the last day.
  simulated.platform.appointmentsPage = async (from, to, page, signal) => ({
    ...(await appointmentsPage(from, addDays(to, 1), page % 2, signal)),
    isLast: false,
  });
  expect(await pass(simulated)).toMatchObject({ missing: 4, filled: 4 });
});

it('a start that moves is found', async () => {
  const simulated = listedAppointments();
  const booked = simulated.book(0);
  const told = { ...booked, data: { ...booked.data, start_time: simulated.listed[0]!.start_time } };
  await insertCallbacks(database, [told]);
  await applyAll();
  expect(await pass(simulated)).toMatchObject({ agrees: 1, differs: 0 });
  simulated.listed[0]!.start_time += 86_400;
  expect(await pass(simulated)).toMatchObject({ differs: 1, filled: 1 });
  await applyAll();
  expect(await database.rows(`select extra->'start_time' as start from appointments`)).toEqual([
    { start: simulated.listed[0]!.start_time },
  ]);
});

it('a status that goes back and forth is found each time', async () => {
  const simulated = listedAppointments();
  await insertCallbacks(database, [simulated.book(0)]);
  for (const status of ['CK', 'BK', 'CK', 'BK']) {
    await applyAll();
    simulated.change(0, status);
    expect(await pass(simulated)).toMatchObject({ differs: 1, filled: 1 });
    // Read again before it is applied: the same delivery.
    expect(await pass(simulated)).toMatchObject({ differs: 1, filled: 1 });
  }
  await applyAll();
  expect(await rowsNow()).toEqual(platformNow(simulated));
  expect(await numberOf('reconciled_deliveries')).toBe(4);
});

/** What happens to the platform's appointments, and whether its callback comes: at once, in the end, or never. */
const happening = fc.record({
  kind: fc.constantFrom('book' as const, 'change' as const),
  place: fc.nat(19),
  status: fc.constantFrom('BK', 'CK', 'OG', 'CM', 'CN', 'RE'),
  arrives: fc.constantFrom('now' as const, 'late' as const, 'never' as const),
});

/** What a pass meets before its answers. */
const meeting = fc.oneof(
  { weight: 3, arbitrary: fc.constant(undefined) },
  { weight: 3, arbitrary: happening },
  fc.constant('stop' as const),
  fc.constant('applied' as const),
);

it('whatever shifts, stops and callbacks passes meet, every listed row is the platform’s in the end, and stays so', async () => {
  const property = fc.asyncProperty(
    fc.array(happening, { minLength: 1, maxLength: 20 }),
    fc.array(fc.array(meeting, { maxLength: 15 }), { maxLength: 3 }),
    async (before, passes) => {
      await clear(database, ...tables);
      const simulated = listedAppointments();
      const late: object[] = [];
      const happen = async ({
        kind,
        place,
        status,
        arrives,
      }: typeof before extends (infer One)[] ? One : never) => {
        const isFirst = simulated.listed.length === 0;
        const callback = kind === 'book' || isFirst ? simulated.book(place) : simulated.change(place, status);
        if (arrives === 'now') await insertCallbacks(database, [callback]);
        if (arrives === 'late') late.push(callback);
      };
      for (const one of before) await happen(one);
      await applyAll();
      for (const meetings of passes) {
        const coming = [...meetings];
        simulated.platform.beforeAnswer = async () => {
          const next = coming.shift();
          if (next === 'stop') throw new Error('stopped');
          if (next === 'applied') await applyAll();
          else if (next) await happen(next);
        };
        await pass(simulated).catch((error) => expect(error.message).toBe('stopped'));
      }
      simulated.platform.beforeAnswer = async () => {};
      if (late.length > 0) await insertCallbacks(database, late);
      await applyAll();
      // The first one may only end a pass that was stopped.
      for (let passes = 0; passes < 2; passes++) {
        await pass(simulated);
        await applyAll();
      }
      expect(await rowsNow()).toEqual(platformNow(simulated));

      const deliveries = await numberOf('inbox');
      for (let passes = 0; passes < 2; passes++) {
        expect(await pass(simulated)).toMatchObject({ missing: 0, differs: 0, busy: 0 });
        expect(await numberOf('inbox')).toBe(deliveries);
      }
      const [left] = await database.rows(`
        select (select count(*) from reconciled_deliveries)::int as made,
               (select count(*) from inbox where event = 'appointment.reconciled')::int as stored`);
      expect(left).toEqual({ made: left!.stored, stored: left!.stored });
    },
  );
  await fc.assert(property, { numRuns: 6 });
});
