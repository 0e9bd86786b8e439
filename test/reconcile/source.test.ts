import { replayDeliveries } from '../../src/apply/replay.ts';
import { families } from '../../src/families/index.ts';
import { appointmentCallback, paths } from '../support/callbacks.ts';
import { insertCallbacks, setTimes } from '../support/deliveries.ts';
import { listedAppointments } from '../support/listed-appointments.ts';
import { post, useService } from '../support/service.ts';
import { useReconciliation } from './use-reconciliation.ts';

const { database, newIntake, pass, applyAll, rowsNow, numberOf } = useReconciliation();
const service = useService({ on: database });

it('a delivery of the reconciliation says so, and is counted apart', async () => {
  const simulated = listedAppointments();
  await insertCallbacks(database, [simulated.book(0)]);
  simulated.book(1);
  simulated.change(1, 'CM');
  await applyAll();
  await pass(simulated);
  const counted = () =>
    database.rows(`
      select sum(received)::int as received, sum(applied)::int as applied, sum(waiting)::int as waiting,
             sum(reconciled)::int as reconciled from reporting.deliveries_daily`);
  for (let times = 0; times < 2; times++) {
    expect(
      await database.rows('select source, count(*)::int as n from deliveries group by 1 order by 1'),
    ).toEqual([
      { source: 'callback', n: 1 },
      { source: 'reconcile', n: 2 },
    ]);
    expect(await database.rows(`select source from reporting.deliveries order by 1`)).toHaveLength(3);
    expect(await counted()).toEqual([{ received: 1, applied: 1, waiting: 0, reconciled: 2 }]);
    await applyAll();
  }
});

it('a replay of all deliveries leaves the rows of the reconciliation as they are', async () => {
  const simulated = listedAppointments();
  await insertCallbacks(database, [simulated.book(0)]);
  await applyAll();
  simulated.change(0, 'CM');
  await pass(simulated);
  await applyAll();
  const before = await rowsNow();
  const replayed = await replayDeliveries(database.db, families, { status: 'applied' }, { dryRun: false });
  expect(replayed).toMatchObject({ applied: 2, changed: 0, failed: 0 });
  expect(await rowsNow()).toEqual(before);
});

it('a callback of the same second is newer than what was read in it, whatever else it tells', async () => {
  const simulated = listedAppointments();
  await insertCallbacks(database, [simulated.book(0)]);
  await applyAll();
  simulated.change(0, 'CK');
  await pass(simulated);
  await applyAll();
  const [{ at } = {}] = await database.rows(
    'select extract(epoch from event_time)::int as at from appointments',
  );
  const { appointment_id } = simulated.listed[0]!;
  const later = { event_time: Number(at), data: { appointment_id, status: 'OG', modified_at: null } };
  await insertCallbacks(database, [appointmentCallback(later)]);
  await applyAll();
  expect(await rowsNow()).toMatchObject([{ status: 'OG' }]);
});

it('what the receiver fetched does not hide that nobody sends', async () => {
  const simulated = listedAppointments();
  await insertCallbacks(
    database,
    Array.from({ length: 12 }, (_, day) => simulated.book(day)),
  );
  await applyAll();
  // Every other day of four weeks, and then nothing for five.
  const at = `now() - interval '8 days' - interval '2 days' * (select count(*) from inbox i where i.id < t.id)`;
  await setTimes(database, { received_at: at, applied_at: at });
  const silence = () =>
    database.rows('select family, last_received_at, expected_callbacks from reporting.silence');
  const before = await silence();
  expect(before).toMatchObject([{ family: 'appointment' }]);
  simulated.book(1);
  await pass(simulated);
  await applyAll();
  expect(await numberOf('reconciled_deliveries')).toBe(1);
  expect(await silence()).toEqual(before);
});

it('a callback with the event of the reconciliation is refused at every path, also from the quarantine', async () => {
  const { url } = await service.start();
  const callback = appointmentCallback({ event: 'appointment.reconciled' });
  const { event, ...rest } = callback;
  for (const path of [paths.appointment, paths.other])
    for (const body of [callback, { ...rest, event_type: event }]) {
      const response = await post(`${url}${path}`, body);
      expect(response.status).toBe(422);
      expect(await response.json()).toMatchObject({ errors: [{ path: '/event' }] });
    }
  const replayed = await newIntake().replay(Buffer.from(JSON.stringify(callback)), paths.other, {
    dryRun: false,
  });
  expect(replayed).toMatchObject({ outcome: 'rejected' });
  expect(await numberOf('inbox')).toBe(0);
});
