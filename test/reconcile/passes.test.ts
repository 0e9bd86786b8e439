import fc from 'fast-check';
import { clear, insertCallbacks } from '../support/deliveries.ts';
import { listedAppointments } from '../support/listed-appointments.ts';
import { tables, useReconciliation } from './use-reconciliation.ts';

const { database, pass, applyAll, rowsNow, platformNow, numberOf } = useReconciliation();

const completeness = () =>
  database.rows(`
    select day::text, missing_found::int as missing, missing_filled::int as filled, differing_found::int as differing,
           differing_filled::int as changed, unknown_to_platform::int as unknown
    from reporting.completeness where method = 'reconciled' and
      missing_found + differing_found + unknown_to_platform > 0 order by day`);

it('what no callback told of comes in, what differs is changed, and what agrees is left alone', async () => {
  const simulated = listedAppointments();
  const callbacks = [0, 1, 2, 3].map((day) => simulated.book(day));
  simulated.change(0, 'CM');
  await insertCallbacks(database, callbacks.slice(1));
  await applyAll();

  expect(await pass(simulated, { dryRun: true })).toMatchObject({
    counts: { missing: 1, differs: 1, agrees: 2, filled: 0 },
  });
  expect(await numberOf('inbox')).toBe(3);
  expect(await pass(simulated)).toMatchObject({
    counts: { missing: 1, differs: 1, agrees: 2, filled: 2 },
    unsettled: [],
  });
  await applyAll();
  expect(await rowsNow()).toEqual(platformNow(simulated));
  expect(await completeness()).toEqual([
    { day: '2026-06-01', missing: 1, filled: 1, differing: 0, changed: 0, unknown: 0 },
    { day: '2026-06-04', missing: 0, filled: 0, differing: 1, changed: 1, unknown: 0 },
  ]);
  expect(
    await database.rows(`
      select method, count(*)::int as days from reporting.completeness
      where family = 'appointment' and day between '2026-06-01' and '2026-06-04' group by method`),
  ).toEqual([{ method: 'reconciled', days: 4 }]);
  // A read has few fields: the others stay.
  const [row] = await database.rows(
    `select custom_attributes, last_event from appointments where status = 'CM'`,
  );
  expect(row).toEqual({ custom_attributes: { label: ['new'] }, last_event: 'appointment.reconciled' });
});

it('a start that moves is found, also where the newest callback does not tell it', async () => {
  const simulated = listedAppointments();
  const booked = simulated.book(0);
  const told = { ...booked, data: { ...booked.data, start_time: simulated.listed[0]!.start_time } };
  await insertCallbacks(database, [told, simulated.change(0, 'CK')]);
  await applyAll();
  expect(await pass(simulated)).toMatchObject({ counts: { agrees: 1, differs: 0 } });
  simulated.listed[0]!.start_time += 86_400;
  expect(await pass(simulated)).toMatchObject({ counts: { differs: 1, filled: 1 } });
  await applyAll();
  expect(await database.rows('select starts_at from reporting.schedule')).toEqual([
    { starts_at: new Date(simulated.listed[0]!.start_time * 1000) },
  ]);
});

it('a status that goes back and forth is found each time', async () => {
  const simulated = listedAppointments();
  await insertCallbacks(database, [simulated.book(0)]);
  for (const status of ['CK', 'BK', 'CK', 'BK']) {
    await applyAll();
    simulated.change(0, status);
    expect(await pass(simulated)).toMatchObject({ counts: { differs: 1, filled: 1 } });
    // Read again before it is applied: the same delivery.
    expect(await pass(simulated)).toMatchObject({ counts: { differs: 1, filled: 1 } });
  }
  await applyAll();
  expect(await rowsNow()).toEqual(platformNow(simulated));
  expect(await numberOf('reconciled_deliveries')).toBe(4);
});

it('a row that the platform does not know is reported, and stays', async () => {
  const simulated = listedAppointments();
  await insertCallbacks(database, [simulated.book(0), simulated.book(1)]);
  await applyAll();
  const [gone] = simulated.listed.splice(0, 1);
  for (let passes = 0; passes < 2; passes++) {
    expect(await pass(simulated)).toMatchObject({ counts: { agrees: 1, unlisted: 1, unknown: 1 } });
    expect(await completeness()).toMatchObject([{ day: '2026-06-01', unknown: 1 }]);
  }
  expect(await numberOf('appointments')).toBe(2);
  simulated.listed.push(gone!);
  expect(await pass(simulated)).toMatchObject({ counts: { agrees: 2, unknown: 0 } });
  expect(await completeness()).toEqual([]);
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

it('whatever shifts, stops and callbacks passes meet, every row is the platform’s in the end, and stays so', async () => {
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
        const { counts } = await pass(simulated);
        expect(counts).toMatchObject({ missing: 0, differs: 0, busy: 0, unknown: 0 });
        expect(await numberOf('inbox')).toBe(deliveries);
      }
      const [left] = await database.rows(`
        select (select count(*) from reconciled_deliveries)::int as made,
               (select count(*) from inbox where event = 'appointment.reconciled')::int as stored,
               (select count(*) from reconciliation_pages)::int as pages`);
      expect(left).toEqual({ made: left!.stored, stored: left!.stored, pages: 0 });
    },
  );
  await fc.assert(property, { numRuns: 6 });
});
