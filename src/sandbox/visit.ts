import { cached, type Family } from '../callbacks/families/family.ts';
import { sampleOf } from '../callbacks/families/sample.ts';
import { hexId, type Random, uuid } from './random.ts';
import type { Beginning } from './schedule.ts';

export type Fields = Record<string, unknown>;

interface Emitted {
  family: Family;
  transaction_id?: string;
  data: Fields;
}

/** The visit's record of the event's family: its sample with all changes so far; undefined: the family is not wanted. */
type Emit = (now: number, event: string, changes?: Fields) => Emitted | undefined;

interface VisitRecord extends Emitted {
  firstMs: number;
  lastMs: number;
}

/** Puts the ids and names of a visit in the place of those of samples, such as `patient-1`. */
function createReplace(random: Random, { practice, doctor }: Beginning): (json: string) => string {
  const { businessId, patients } = practice;
  const texts: Record<string, string> = {
    ...random.pick(patients),
    'business-1': businessId,
    'clinic-1': doctor.clinic.id,
    'doctor-1': doctor.id,
    'Dr Asha Rao': doctor.name,
    'partner_clinic_id-1': `partner-${doctor.clinic.id.slice(-8)}`,
    'partner_doctor_id-1': `partner-${doctor.id.slice(-8)}`,
    'appointment-1': `${random.pick(['d', 'api'])}-${uuid(random)}`,
  };
  return (json) =>
    json.replace(/\b[a-z][a-z_]*-1\b|Dr Asha Rao/g, (text) => {
      texts[text] ??= hexId(random);
      return texts[text];
    });
}

// Other times are those of the last change, but for the one that a visit has agreed.
const firstTimes = ['created_at', 'admission_date', 'date'];
const agreedTime = 'start_time';

/** As the sample: text, milliseconds or seconds. */
function spelled(sample: unknown, ms: number): string | number {
  if (typeof sample === 'string') return new Date(ms).toISOString();
  return Number(sample) > 1e11 ? ms : Math.floor(ms / 1000);
}

const sampleFor = cached((family: Family) => {
  const { data, transaction_id } = sampleOf(family);
  return { data, json: JSON.stringify({ data, transaction_id }) };
});

export function createEmit(random: Random, beginning: Beginning, families: readonly Family[]): Emit {
  const { practice, doctor } = beginning;
  const replace = createReplace(random, beginning);
  const records = new Map<Family, VisitRecord>();

  function makeRecord(family: Family, firstMs: number): VisitRecord {
    const { name, fields, key = '' } = family;
    const { data, ...transaction } = JSON.parse(replace(sampleFor(family).json));
    if (fields[key]?.kind === 'integer') data[key] = practice.nextNumber++;
    if (name === 'receipt') data.receipt_number = `${doctor.clinic.prefix}-${practice.nextReceipt++}`;
    return { family, data, ...transaction, firstMs, lastMs: 0 };
  }

  return (now, event, changes = {}) => {
    const family = families.find(({ events }) => Object.hasOwn(events, event));
    if (!family) return undefined;
    const { data: sample } = sampleFor(family);
    const { fields, changeTime = '' } = family;
    const isTime = (name: string) => fields[name]?.kind === 'time' && name !== agreedTime;
    const record = records.get(family) ?? makeRecord(family, now);
    records.set(family, record);
    // Versions within a second would have no order, but for times in milliseconds.
    record.lastMs = Math.max(now, Number(sample[changeTime]) > 1e11 ? 0 : record.lastMs + 1_000);
    const { firstMs, lastMs, data, ...others } = record;
    Object.assign(data, changes);
    for (const name of Object.keys(data))
      if (isTime(name) && data[name] != null)
        data[name] = spelled(sample[name], firstTimes.includes(name) ? firstMs : lastMs);
    return { ...others, data: { ...data } };
  };
}
