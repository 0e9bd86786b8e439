import { cached, type Family, isKeyedByEnvelope } from '../callbacks/families/family.ts';
import { sampleOf } from '../callbacks/families/sample.ts';
import { digits, hexId, personId, type Random, uuid } from './random.ts';

export type Fields = Record<string, unknown>;

export interface Clinic {
  businessId: string;
  clinicId: string;
  doctors: string[];
  /** The next key of a record that has a number. */
  nextNumber: number;
}

export const newClinic = (random: Random, businessId?: string): Clinic => ({
  businessId: businessId ?? personId(random),
  clinicId: hexId(random),
  doctors: Array.from({ length: random.between(1, 4) }, () => personId(random)),
  nextNumber: random.between(1, 5_000),
});

export interface ScenarioEvent {
  family: Family;
  event: string;
  transaction_id?: string;
  data: Fields;
}

/** An event of the visit's record of the event's family: its sample with all changes so far, or only the fields `names`. */
export type Emit = (event: string, changes?: Fields, names?: readonly string[]) => ScenarioEvent | undefined;

export interface VisitOptions {
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly families: readonly Family[];
  /** Decides whether an update has only its key and its changes. */
  readonly isLean: () => boolean;
}

interface VisitRecord {
  data: Fields;
  transaction: { transaction_id?: string };
  firstMs: number;
  lastMs: number;
}

const firstNames = "Asha Ravi Meera आशा रवि கவிதா మీనా অনিতা عائشہ ਗੁਰਪ੍ਰੀਤ Zoë D'Sa".split(' ');
const lastNames = ['Sample', 'Kumar', 'शर्मा', 'முருகன்', 'రెడ్డి', 'সেন', 'خان', 'ਸਿੰਘ', 'Müller-Rao', ''];

/** Puts the ids and names of a visit in the place of those of samples, such as `patient-1`. */
function createReplace(random: Random, { businessId, clinicId, doctors }: Clinic): (json: string) => string {
  const doctor = random.pick(doctors);
  const texts: Record<string, string> = {
    'business-1': businessId,
    'clinic-1': clinicId,
    'doctor-1': doctor,
    'patient-1': personId(random),
    'patient_name-1': `${random.pick(firstNames)} ${random.pick(lastNames)}`.trim(),
    // No Indian mobile number begins with 5.
    'patient_phone-1': `+915${random.text(9, digits)}`,
    'partner_clinic_id-1': `partner-${clinicId.slice(-8)}`,
    'partner_doctor_id-1': `partner-${doctor.slice(-8)}`,
    'appointment-1': `${random.pick(['d', 'api'])}-${uuid(random)}`,
    'abha_name-1': `sample.${random.text(10, digits)}`,
    'abha_number-1': [2, 4, 4, 4].map((length) => random.text(length, digits)).join('-'),
  };
  return (json) =>
    json.replace(/\b[a-z][a-z_]*-1\b/g, (text) => {
      texts[text] ??= hexId(random);
      return texts[text];
    });
}

// Other times are those of the last change.
const firstTimes = ['created_at', 'admission_date', 'date'];

/** As the sample: text, milliseconds or seconds. */
function spelled(sample: unknown, ms: number): string | number {
  if (typeof sample === 'string') return new Date(ms).toISOString();
  return Number(sample) > 1e11 ? ms : Math.floor(ms / 1000);
}

const sampleFor = cached((family: Family) => {
  const { data, transaction_id } = sampleOf(family);
  return { data, json: JSON.stringify([data, transaction_id === undefined ? {} : { transaction_id }]) };
});

/** A visit of one patient. */
export function createEmit(random: Random, clinic: Clinic, { clock, families, isLean }: VisitOptions): Emit {
  const replace = createReplace(random, clinic);
  const records = new Map<Family, VisitRecord>();

  function makeRecord(family: Family): VisitRecord {
    const { fields, key = '' } = family;
    const [data, transaction] = JSON.parse(replace(sampleFor(family).json));
    if (fields[key]?.kind === 'integer') data[key] = clinic.nextNumber++;
    return { data, transaction, firstMs: clock(), lastMs: 0 };
  }

  return (event, changes = {}, names) => {
    const family = families.find(({ events }) => Object.hasOwn(events, event));
    if (!family) return undefined;
    const { data: sample } = sampleFor(family);
    const { fields, key = '', changeTime = '' } = family;
    const isTime = (name: string) => fields[name]?.kind === 'time';
    const existing = records.get(family);
    const record = existing ?? makeRecord(family);
    records.set(family, record);
    // Versions within a second would have no order, but for times in milliseconds.
    record.lastMs = Math.max(clock(), Number(sample[changeTime]) > 1e11 ? 0 : record.lastMs + 1_000);
    const { data, transaction, firstMs, lastMs } = record;
    Object.assign(data, changes);
    for (const name of Object.keys(data))
      if (isTime(name) && data[name] != null)
        data[name] = spelled(sample[name], firstTimes.includes(name) ? firstMs : lastMs);
    const hasKey = key !== '' && !isKeyedByEnvelope(family);
    const isLeanName = (name: string) => {
      if (name === key || family.events[event] === 'deleted') return name === key;
      return name in changes || (isTime(name) && !firstTimes.includes(name));
    };
    const sent =
      existing && hasKey && isLean() ? Object.keys(data).filter(isLeanName) : (names ?? Object.keys(data));
    const picked = sent.filter((name) => name in data).map((name) => [name, data[name]]);
    return { family, event, ...transaction, data: Object.fromEntries(picked) };
  };
}
