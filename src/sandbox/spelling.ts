import type { Envelope } from './families.ts';
import type { Random } from './random.ts';

const reminders = [
  'appointment.reminder_instant',
  'appointment.followup_reminder_instant',
  'vaccination.reminder',
];
const messages = ['receipt_payment.requested', 'prescription.communication'];
const withoutClient = ['appointment.statuschange', 'appointment.assessments.taken', ...messages];
const prescriptions = ['prescription.created', 'prescription.updated'];
/** Without `service`, `transaction_id` and `partition_id`. */
const oldest = ['appointment.created', 'appointment.updated', ...prescriptions];

const timeFields = [
  'created_at',
  'modified_at',
  'updated_at',
  'completed_at',
  'at',
  'date',
  'admission_date',
];

/** The spellings of a time; only a whole second is written in seconds. */
const timeSpellings: readonly ((milliseconds: number) => number | string)[] = [
  (milliseconds) => (milliseconds % 1000 === 0 ? milliseconds / 1000 : milliseconds),
  (milliseconds) => milliseconds,
  (milliseconds) => new Date(milliseconds).toISOString(),
  (milliseconds) => new Date(milliseconds).toISOString().replace('T', ' ').replace('Z', '000+00:00'),
];

/**
 * A callback as the platform really sends it, where that differs from section 2: `event_type`, more fields beside `data`,
 * ids and times in other types. It means the same, but some events name no client, and a reminder of a vaccination names
 * its business only in `partition_id`.
 */
export function spellAsPlatform(envelope: Envelope, random: Random): Record<string, unknown> {
  const { event, event_time, timestamp, client_id, business_id, data } = envelope;
  const {
    transaction_id = event === 'appointment.statuschange'
      ? data.appointment_id
      : random.text(32, '0123456789abcdef'),
  } = envelope;
  return {
    ...(!isOldest(event) && { service: event.split(/[._]/)[0], transaction_id, partition_id: business_id }),
    event_type: event,
    event_time: [...reminders, ...messages].includes(event) ? inMilliseconds(event_time) : event_time,
    ...spellTimestamp(event, timestamp, random),
    ...(withoutClient.includes(event) ? random.pick([{ client_id: '' }, {}]) : { client_id }),
    ...(event !== 'vaccination.reminder' && { business_id }),
    data: spellData(event, data, random),
  };
}

const isOldest = (event: string) => event.startsWith('receipt.') || oldest.includes(event);

function spellTimestamp(event: string, timestamp: number, random: Random) {
  if (reminders.includes(event)) return {};
  if (timestamp === 0 || messages.includes(event)) return { timestamp: 0 };
  return { timestamp: random.chance(0.5) ? timestamp : new Date(inMilliseconds(timestamp)).toISOString() };
}

function spellData(event: string, data: Record<string, unknown>, random: Random): Record<string, unknown> {
  const spellTime = random.pick(timeSpellings);
  const spelled = Object.fromEntries(
    Object.entries(data).map(([name, value]) =>
      timeFields.includes(name) ? [name, spellTime(inMilliseconds(value as number))] : [name, value],
    ),
  );
  if (event.startsWith('receipt.')) {
    const receipt_id = String(data.receipt_id);
    return { ...spelled, receipt_id, business_receipt_number: `B-${receipt_id}` };
  }
  if (!prescriptions.includes(event)) return spelled;
  const { prescription_id: rx_id, ...rest } = spelled;
  return { rx_id, ...rest };
}

/** Values above 1e11 are milliseconds already. */
const inMilliseconds = (time: number) => (time > 1e11 ? time : time * 1000);
