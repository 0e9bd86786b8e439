import { families } from '../../src/families/index.ts';
import { erasePatient } from '../../src/privacy/erasure/erase.ts';
import { insertCallbacks } from '../support/deliveries.ts';
import { listedAppointments, noon } from '../support/listed-appointments.ts';
import { useReconciliation } from './use-reconciliation.ts';

const { database, newIntake, pass, applyAll, rowsNow, numberOf } = useReconciliation();

const year = 31_536_000;
const patient_id = 'patient-erased';
const erase = () =>
  erasePatient(database.db, families, { id: patient_id }, { actor: { id: 'test' }, keepMs: 0 });
const ids = async () => (await rowsNow()).map(({ appointment_id }) => appointment_id);

afterEach(() => jest.restoreAllMocks());

it('an erased patient does not come back, unless for an appointment that was booked since', async () => {
  jest.spyOn(Date, 'now').mockReturnValue((noon + 6 * year) * 1_000);
  const simulated = listedAppointments(noon + 5 * year);
  const told = simulated.book(0, { patient_id, appointment_id: 'told' });
  await insertCallbacks(database, [{ ...told, event_time: noon }]);
  await applyAll();
  simulated.book(1, { patient_id, appointment_id: 'never told' });
  simulated.book(2, { patient_id, appointment_id: 'without a time', created_at: null as never });
  simulated.book(3, { patient_id: 'somebody else', appointment_id: 'of somebody else' });
  simulated.book(4, { patient_id, appointment_id: 'booked since', created_at: noon + 4 * year });
  await erase();
  expect(await pass(simulated, { dryRun: true })).toMatchObject({ erased: 3, missing: 2 });
  expect(await pass(simulated)).toMatchObject({ erased: 3, missing: 2, filled: 2 });
  await applyAll();
  expect(await ids()).toEqual(['booked since', 'of somebody else']);
  expect(await numberOf('reconciled_deliveries')).toBe(2);
});

it('an erasure between the comparison and the delivery wins', async () => {
  const simulated = listedAppointments();
  simulated.book(0, { patient_id });
  const intake = newIntake();
  const store: typeof intake.store = async (delivery) => {
    await erase();
    return intake.store(delivery);
  };
  expect(await pass(simulated, { intake: { store } })).toMatchObject({ missing: 1, filled: 0 });
  expect(await numberOf('inbox')).toBe(0);
  expect(await numberOf('reconciled_deliveries')).toBe(0);
});

it('what the reconciliation has brought goes with its patient', async () => {
  const simulated = listedAppointments();
  simulated.book(0, { patient_id });
  simulated.book(1);
  await pass(simulated);
  await applyAll();
  await erase();
  for (const table of ['inbox', 'appointments', 'reconciled_deliveries'])
    expect([table, await numberOf(table)]).toEqual([table, 1]);
});

it('what the retention has deleted does not come back', async () => {
  const simulated = listedAppointments();
  simulated.book(0);
  const intake = newIntake({ retention: { appointment: 86_400_000 } });
  expect(await pass(simulated, { intake })).toMatchObject({ missing: 1, filled: 0 });
  expect(await numberOf('reconciled_deliveries')).toBe(0);
});
