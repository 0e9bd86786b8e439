import { Router } from 'express';
import { z } from 'zod';
import { appointment } from '../callbacks/families/appointment.ts';
import { sendError } from './faults.ts';
import type { Fields } from './visit.ts';

const pageSize = 30;
/** A consultation, in seconds. */
const slot = 900;
/** Days are those of India. */
const startOf = (day: string) => Date.parse(day) / 1000 - 5.5 * 3_600;
const secondsPerDay = 24 * 3_600;

const listQuery = z
  .strictObject({
    start_date: z.iso.date(),
    end_date: z.iso.date(),
    page_no: z.coerce.number().int().min(0).default(0),
  })
  .refine(({ start_date, end_date }) => {
    const apart = (startOf(end_date) - startOf(start_date)) / secondsPerDay;
    return apart >= 0 && apart <= 7;
  });

/** The records of one business: that of the directory, or of the first event. */
export interface Records {
  /** Events of other businesses or families change nothing. */
  take: (event: { event: string; business_id: string; data: Fields }) => void;
  /** The newest first, so that a booking moves all others to later places. */
  list: (startDate: string, endDate: string) => Fields[];
  directory: () => { business: object; clinics: object[]; doctors: object[] };
}

/** @param directory see `directoryOf` */
export function newRecords(directory: readonly { kind: string; id: string; alias: string }[] = []): Records {
  const appointments = new Map<string, Fields>();
  const named = (kind: string) =>
    directory.filter((one) => one.kind === kind).map(({ id, alias: name }) => ({ [`${kind}_id`]: id, name }));
  let business = directory.find(({ kind }) => kind === 'business')?.id;

  return {
    take({ event, business_id, data }) {
      business ??= business_id;
      if (business_id !== business || !Object.hasOwn(appointment.events, event)) return;
      const { action: _, sa_ids: __, ...fields } = data;
      const id = String(data.appointment_id);
      const all: Fields = { ...appointments.get(id), ...fields };
      const start_time = Number(all.start_time ?? Math.ceil(Number(all.created_at) / slot) * slot);
      appointments.set(id, { ...all, start_time, end_time: start_time + slot });
    },

    list(startDate, endDate) {
      const [from, to] = [startOf(startDate), startOf(endDate) + secondsPerDay];
      const isOf = ({ start_time: at }: Fields) => Number(at) >= from && Number(at) < to;
      return [...appointments.values()].reverse().filter(isOf);
    },

    directory: () => ({
      business: named('business')[0] ?? { business_id: business ?? '', name: 'Sample Practice' },
      clinics: named('clinic'),
      doctors: named('doctor'),
    }),
  };
}

export function recordOperations(records: Records): Router {
  const router = Router();
  router.get('/dr/v1/appointment', ({ query }, response) => {
    const { success, data } = listQuery.safeParse(query);
    if (!success) return sendError(response, 400, 'INVALID_REQUEST', 'query');
    const from = data.page_no * pageSize;
    response.json({
      appointments: records.list(data.start_date, data.end_date).slice(from, from + pageSize),
    });
  });
  router.get('/dr/v1/business/entities', (_, response) => void response.json({ data: records.directory() }));
  return router;
}
