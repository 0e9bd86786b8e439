import { sql } from 'kysely';
import type { Delivery } from '../callbacks/delivery.ts';
import { appointment } from '../callbacks/families/appointment.ts';
import { type Field, isMeaningless } from '../callbacks/families/field.ts';
import { createReadCallback } from '../callbacks/read-callback.ts';
import { Rejection } from '../callbacks/rejection.ts';
import { readTime } from '../callbacks/times.ts';
import type { Core } from '../receiver/feature.ts';
import type { AppointmentPage } from './read-appointments.ts';

/**
 * `differs`: in its status or a time. `recent`: it changed in the last minutes; its callback may be on its way, or the list
 * behind it: it is left to the next pass. `expired`: missing, and of an age that retention deletes. `unreadable`: it cannot
 * be stored.
 */
export type Outcome = 'agrees' | 'missing' | 'differs' | 'recent' | 'expired' | 'unreadable';

export interface Comparison {
  outcome: Outcome;
  /** To be stored: it is missing or differs. */
  delivery?: Delivery;
  /** In milliseconds since 1970; 0: unknown, so it counts as before any erasure. */
  bookedMs: number;
}

type Data = Readonly<Record<string, unknown>>;

const event = 'appointment.reconciled' satisfies keyof typeof appointment.events;
/** Callbacks have milliseconds where the list has seconds. */
const secondOf = (value: unknown) => Math.floor((readTime(value) ?? Number.NaN) / 1000) || undefined;
const comparedFields: Readonly<Record<string, (value: unknown) => unknown>> = {
  status: String,
  created_at: secondOf,
  start_time: secondOf,
  end_time: secondOf,
};
/** How long a callback may be on its way, with resends. */
const recentMs = 10 * 60_000;
const readCallback = createReadCallback([appointment], true);

/** Compares a page of the list with stored callbacks and earlier reads. */
export async function compareAppointments(
  { db, config }: Core,
  businessId: string,
  { appointments, askedMs }: AppointmentPage,
): Promise<Comparison[]> {
  const keptMs = config.retention[appointment.name] ?? Number.POSITIVE_INFINITY;
  // PostgreSQL refuses U+0000 in a parameter.
  const ids = appointments.map(({ appointment_id: id }) => id).filter((id) => !id.includes('\0'));
  // The inbox has what waits to be merged; the rows do not.
  const { rows } = await sql<{ id: string; existing: Data; lastMs: number | null }>`
    select record_id as id, receiver.jsonb_merge(coalesce(data, envelope->'data') order by version) as existing,
           to_jsonb(extract(epoch from max(event_time) filter (where event <> ${event})) * 1000) as "lastMs"
    from receiver.inbox
    where business_id = ${businessId} and family = ${appointment.name} and record_id = any(${ids}::text[])
    group by record_id`.execute(db);
  const stored = new Map(rows.map((row) => [row.id, row]));
  return appointments.map((listed): Comparison => {
    const { existing, lastMs } = stored.get(listed.appointment_id) ?? { lastMs: null };
    const data = withoutBlanks(listed, askedMs);
    const differences = differencesOf(data, existing ?? {});
    const bookedMs = readTime(data.created_at ?? existing?.created_at) ?? 0;
    if (existing && !differs(differences, existing)) return { outcome: 'agrees', bookedMs };
    if ((lastMs ?? (existing ? 0 : bookedMs)) > askedMs - recentMs) return { outcome: 'recent', bookedMs };
    if (!existing && Math.max(bookedMs, readTime(data.start_time) ?? 0) < askedMs - keptMs)
      return { outcome: 'expired', bookedMs };
    try {
      // Without a client: the record keeps its own.
      const callback = { event, event_time: askedMs / 1000, business_id: businessId, data: differences };
      const body = Buffer.from(JSON.stringify(callback));
      const { delivery } = readCallback(body, { receivedAt: Date.now() * 1000 });
      return { outcome: existing ? 'differs' : 'missing', delivery, bookedMs };
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
      return { outcome: 'unreadable', bookedMs };
    }
  });
}

/**
 * A listed appointment without empty fields, impossible times, and objects and arrays: none is documented, and they may have
 * less than those of a callback, which they would replace.
 */
function withoutBlanks(listed: Data, askedMs: number): Data {
  const fields: Readonly<Record<string, Field>> = appointment.fields;
  const hasValue = ([name, value]: [string, unknown]) =>
    !['', undefined].includes(value as '') &&
    typeof value !== 'object' &&
    !(fields[name] && isMeaningless(fields[name], value, askedMs));
  return Object.fromEntries(Object.entries(listed).filter(hasValue));
}

function differencesOf(data: Data, existing: Data): Data {
  const agrees = ([name, value]: [string, unknown]) => {
    const read = comparedFields[name];
    return read && existing[name] != null && [undefined, read(existing[name])].includes(read(value));
  };
  return Object.fromEntries(Object.entries(data).filter((field) => !agrees(field)));
}

/** A time that callbacks lack is no difference: they need not have it. */
const differs = (differences: Data, existing: Data) =>
  Object.keys(comparedFields).some(
    (name) => name in differences && (name === 'status' || existing[name] != null),
  );
