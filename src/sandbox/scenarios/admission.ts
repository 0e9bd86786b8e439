import { type Clinic, hexId, newPatient } from '../clinic.ts';
import type { Random } from '../random.ts';
import { type Admission, clearance, estimate, happening } from './admission-parts.ts';
import { inRupees, interleaved, type Scenario, type ScenarioEvent, sometimes } from './scenario.ts';

/** An admission to a hospital: billed and paid in parts; with its clearances the patient leaves. */
export function* admissionScenario(random: Random, clinic: Clinic, admittedAt: number): Scenario {
  const id = hexId(random);
  const nurse = { id: random.pick(clinic.doctors), name: 'Asha Sample' };
  const admission: Admission = { transactionId: `ipd/${clinic.businessId}/admissions/${id}`, nurse };
  const fields = { id, ...fieldsOf(random, clinic, admittedAt) };
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

function fieldsOf(random: Random, { businessId, clinicId, doctors }: Clinic, admittedAt: number) {
  const patient = newPatient(random);
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
