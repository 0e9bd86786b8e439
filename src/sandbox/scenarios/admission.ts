import { type Clinic, hexId, newPatient } from '../clinic.ts';
import type { Random } from '../random.ts';
import { inRupees, interleaved, type Scenario, type ScenarioEvent, sometimes } from './scenario.ts';

/** An admission to a hospital: billed and paid in parts; with its clearances the patient leaves. */
export function* admissionScenario(
  random: Random,
  clinic: Clinic,
  admittedAt: number,
  patient?: ReturnType<typeof newPatient>,
): Scenario {
  const id = hexId(random);
  const nurse = { id: random.pick(clinic.doctors), name: 'Asha Sample' };
  const admission: Admission = { transactionId: `ipd/${clinic.businessId}/admissions/${id}`, nurse };
  const fields = { id, ...fieldsOf(random, clinic, admittedAt, patient) };
  let billed = 0;
  let paid = 0;
  const version = (action: 'created' | 'updated', changes: Record<string, unknown> = {}): ScenarioEvent => {
    Object.assign(fields, changes, { totalbilled: inRupees(billed), totalpaid: inRupees(paid) });
    return { event: `ipd_admissions.${action}`, data: { ...fields } };
  };
  let now = yield version('created');
  now = yield* interleaved(random, now, [
    happening(random, admission, now, { kind: 'admitted' }),
    estimate(random, admission, now),
  ]);
  while (random.chance(0.6)) {
    billed += random.between(10_000, 2_000_000);
    paid += random.chance(0.6) ? random.between(0, billed - paid) : 0;
    const bed = newBed(random);
    now = yield version('updated', { updated_at: now, bed });
    const moved = happening(random, admission, now, { kind: 'moved', to: bed.name });
    now = yield* interleaved(random, now, [moved]);
  }
  const cleared = ['billing', 'pharmacy', 'nursing'].map((type) => clearance(random, admission, type));
  now = yield* interleaved(random, now, cleared);
  if (random.chance(0.2)) return; // stays
  paid = billed;
  yield version('updated', { updated_at: now, stage: 'discharged', status: 'completed' });
}

const newBed = (random: Random) => ({ name: `B-${random.between(1, 40)}`, ward: 'General' });

function fieldsOf(
  random: Random,
  { businessId, clinicId, doctors }: Clinic,
  admittedAt: number,
  patient = newPatient(random),
) {
  const attendee = newPatient(random);
  const doctor = random.pick(doctors);
  const number = random.between(1, 9_999);
  return {
    ipid: `IP-${number}`,
    pid: patient.oid,
    bid: businessId,
    docid: doctor,
    facilityid: clinicId,
    stage: 'admitted',
    status: 'active',
    ...sometimes(random, {
      attendee: { name: attendee.name, phone: attendee.mobile, relation: random.pick(['spouse', 'parent']) },
      category: random.pick(['emergency', 'planned']),
      department: { id: 'dep-1', name: random.pick(['Medicine', 'Surgery', 'Orthopaedics']) },
      doc: { id: doctor, name: 'Dr Meera Sample' },
      duration: { days: random.between(1, 9) },
      facility: { id: clinicId, name: 'Sample Hospital' },
      insurance: { provider: 'Example Insurance', policy_number: `P-${number}` },
      medico_legal_case: { is_mlc: random.chance(0.1) },
      patient: {
        name: patient.name,
        phone: patient.mobile,
        gender: random.pick(['M', 'F', 'O']),
        dob: `19${random.between(30, 99)}-0${random.between(1, 9)}-1${random.between(0, 9)}`,
      },
      procedures: [{ name: random.pick(['X-ray', 'Appendectomy', 'Dialysis']) }],
      rateplan: { id: 'plan-1', name: random.pick(['General', 'Private']) },
      refer: { name: 'Dr Ravi Kumar' },
      // Real admissions have undocumented fields too.
      diagnosis: random.pick(['Appendicitis', 'Dengue', 'Fracture']),
    }),
    admission_date: admittedAt,
    bed: newBed(random),
    created_at: admittedAt,
    updated_at: admittedAt,
  };
}

/** The common fields of events, clearances and estimates of an admission. */
interface Admission {
  readonly transactionId: string;
  readonly nurse: { readonly id: string; readonly name: string };
}

/** An event of the stay, sometimes corrected. */
function* happening(
  random: Random,
  { transactionId, nurse }: Admission,
  at: number,
  fields: { kind: string; to?: string; clearance_type?: string },
): Scenario {
  const id = hexId(random);
  const version = (action: 'created' | 'updated', at: number): ScenarioEvent => ({
    event: `ipd_admissions_events.${action}`,
    transactionId: `${transactionId}/events/${id}`,
    data: { id, ...fields, ...sometimes(random, { at, by: nurse }) },
  });
  const now = yield version('created', at);
  if (random.chance(0.5)) yield version('updated', now);
}

/** The clearance of a department, completed or still open; its data has no id. */
function* clearance(random: Random, admission: Admission, type: string): Scenario {
  const transactionId = `${admission.transactionId}/clearances/${type}`;
  const version = (action: 'created' | 'updated', status: string, more = {}): ScenarioEvent => ({
    event: `ipd_admissions_clearances.${action}`,
    transactionId,
    data: { status, type, ...sometimes(random, more) },
  });
  let now = yield version('created', 'pending');
  if (random.chance(0.2)) return;
  const completed = { completed_at: now, completed_by: admission.nurse, updated_at: now };
  now = yield version('updated', 'completed', completed);
  yield* happening(random, admission, now, { kind: 'cleared', clearance_type: type });
}

/** An estimate of the cost of a service, sometimes raised. */
function* estimate(random: Random, { transactionId, nurse }: Admission, createdAt: number): Scenario {
  const id = hexId(random);
  const service = { name: random.pick(['Room', 'Nursing', 'Pharmacy']), service_id: hexId(random) };
  const rate = inRupees(random.between(5_000, 500_000));
  const discount = { category: random.pick(['percent', 'amount']), value: random.between(0, 20) };
  let quantity = 1;
  const version = (action: 'created' | 'updated', times: Record<string, unknown>): ScenarioEvent => ({
    event: `ipd_admissions_estimates.${action}`,
    transactionId: `${transactionId}/estimates/${id}`,
    data: {
      id,
      ...service,
      ...sometimes(random, {
        quantity,
        rate,
        discount,
        remarks: random.pick(['', 'On request']),
        date: createdAt,
        added_by: nurse,
        created_at: createdAt,
      }),
      ...times,
    },
  });
  let now = yield version('created', sometimes(random, { updated_at: createdAt }));
  while (random.chance(0.5)) {
    quantity += 1;
    now = yield version('updated', { updated_at: now });
  }
}
