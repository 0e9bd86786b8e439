import { families } from '../../src/families/index.ts';
import { erasePatient } from '../../src/privacy/erasure/erase.ts';
import { PlatformUnreadable } from '../../src/reconcile/platform.ts';
import { appointmentCallback, samples } from '../support/callbacks.ts';
import { apply, insertCallbacks } from '../support/deliveries.ts';
import { listedAppointments, noon } from '../support/listed-appointments.ts';
import { useFollowUps } from './use-follow-ups.ts';

const { database, pass, applyAll, followUp, numberOf } = useFollowUps();

const read = {
  prescription_id: 'another',
  doctor: { id: 'doctor-read', name: 'Dr Asha Rao' },
  diagnoses: ['fever'],
  prescription_url: 'https://files.invalid/p/1.pdf',
  created_at: noon,
};

/** A platform with an appointment that names a prescription. */
function withPrescription(more: object = {}, answer: object | undefined = read) {
  const simulated = listedAppointments();
  const asked: string[] = [];
  const callback = simulated.book(0, { prescription_id: 'rx-read', patient_id: 'patient-1', ...more });
  simulated.platform.prescription = async (id) => {
    asked.push(id);
    return (
      answer && {
        prescription: answer as Record<string, unknown>,
        answeredAt: new Date('2026-07-01T10:00:00Z'),
      }
    );
  };
  return { ...simulated, asked, callback };
}

const compareAndAsk = async (simulated: ReturnType<typeof withPrescription>) => {
  await pass(simulated, { notesPrescriptions: true });
  await applyAll();
  const answers = await followUp(simulated, { with: ['prescriptions'] });
  await applyAll();
  return answers;
};
const rows = () =>
  database.rows(
    'select prescription_id, patient_id, doctor_id, prescription_url, extra, last_event from prescriptions',
  );
const stored = {
  ...{ prescription_id: 'rx-read', patient_id: 'patient-1', doctor_id: 'doctor-read' },
  ...{ prescription_url: read.prescription_url, extra: {}, last_event: 'prescription.reconciled' },
};

it.each(['agrees', 'is missing'])(
  'a prescription that never came is read, whether its appointment %p',
  async (state) => {
    const simulated = withPrescription();
    if (state === 'agrees') await apply(database, [simulated.callback]);
    for (let times = 0; times < 2; times++) {
      await compareAndAsk(simulated);
      expect(await rows()).toEqual([stored]);
    }
    expect(simulated.asked).toEqual(['rx-read']);
    expect(
      await database.rows(`select family, source from deliveries where family = 'prescription'`),
    ).toEqual([{ family: 'prescription', source: 'reconcile' }]);
    expect(
      await database.rows(`
      select method, missing_found::int, missing_filled::int from reporting.completeness where family = 'prescription'`),
    ).toEqual([{ method: 'inferred', missing_found: 1, missing_filled: 1 }]);
  },
);

it('nothing is noted or asked without the word for it, or where the prescription has come', async () => {
  const simulated = withPrescription();
  await pass(simulated);
  expect(await numberOf('named_prescriptions')).toBe(0);
  await insertCallbacks(database, [samples.prescription({ data: { prescription_id: 'rx-read' } })]);
  await pass(simulated, { notesPrescriptions: true });
  await followUp(simulated, { with: ['prescriptions'] });
  expect(simulated.asked).toEqual([]);
  await applyAll();
  await compareAndAsk(simulated);
  expect([simulated.asked, (await rows()).length]).toEqual([[], 1]);
});

it('one that an appointment’s callback names is asked for, too', async () => {
  const simulated = withPrescription({ prescription_id: undefined });
  const { appointment_id, created_at, patient_id } = simulated.listed[0]!;
  const data = { appointment_id, created_at, patient_id, status: 'BK', prescription_id: 'rx-told' };
  await apply(database, [appointmentCallback({ event_time: noon, data })]);
  await compareAndAsk(simulated);
  expect(simulated.asked).toEqual(['rx-told']);
});

it('a callback about it is newer than what was read, also in the same second', async () => {
  await compareAndAsk(withPrescription());
  const [{ at } = {}] = await database.rows(
    'select extract(epoch from event_time)::int as at from prescriptions',
  );
  const data = {
    prescription_id: 'rx-read',
    prescription_url: 'https://files.invalid/p/2.pdf',
    modified_at: null,
  };
  await apply(database, [samples.prescription({ event_time: Number(at), data } as never)]);
  expect(await rows()).toMatchObject([{ prescription_url: 'https://files.invalid/p/2.pdf' }]);
});

it('one that the platform does not know is asked for again for some days', async () => {
  const simulated = withPrescription({}, undefined);
  simulated.platform.prescription = async (id) => void simulated.asked.push(id);
  expect(await compareAndAsk(simulated)).toEqual({ prescriptions: { found: 0, unknown: 1, unreadable: 0 } });
  await compareAndAsk(simulated);
  expect(simulated.asked).toHaveLength(1);
  const makeDue = (days: number) =>
    database.rows(`
      update named_prescriptions set first_asked_at = first_asked_at - ${days} * interval '1 day', ask_again_at = now()`);
  await makeDue(1);
  simulated.platform.prescription = async () => {
    throw new PlatformUnreadable('500');
  };
  expect(await compareAndAsk(simulated)).toEqual({ prescriptions: { found: 0, unknown: 0, unreadable: 1 } });
  simulated.platform.prescription = async (id) => void simulated.asked.push(id);
  await makeDue(7);
  await compareAndAsk(simulated);
  expect(await database.rows('select ask_again_at from named_prescriptions')).toEqual([
    { ask_again_at: null },
  ]);
});

it('a patient who was erased does not come back by a prescription', async () => {
  const erase = () =>
    erasePatient(
      database.db,
      families,
      { id: 'patient-1' },
      { actor: { id: 'test' }, keepMs: 0, keepsTotals: true },
    );
  const simulated = withPrescription();
  const { prescription } = simulated.platform;
  simulated.platform.prescription = async (id) => {
    await erase();
    return prescription(id);
  };
  await compareAndAsk(simulated);
  expect([simulated.asked.length, await numberOf('inbox'), await numberOf('named_prescriptions')]).toEqual([
    1, 0, 0,
  ]);
  // Its appointment is another patient's now, and the prescription tells the truth.
  const other = withPrescription({ patient_id: 'patient-2' }, { ...read, patient: { id: 'patient-1' } });
  await compareAndAsk(other);
  expect(await numberOf('prescriptions')).toBe(0);
  expect(await numberOf(`reconciled_deliveries where family = 'prescription'`)).toBe(0);
});
