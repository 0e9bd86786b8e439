import type { Platform, ReadAppointment } from '../../src/reconcile/platform.ts';
import { appointmentCallback } from './callbacks.ts';

export const business = '64a1f0c2e4b0a1b2c3d4e5f7';
const pageSize = 3;
/** 2026-06-01 12:00 in India. */
export const noon = Date.parse('2026-06-01T06:30:00Z') / 1000;
const daySeconds = 86_400;

export interface Listed extends ReadAppointment {
  status: string;
  created_at: number;
  start_time: number;
}

/**
 * A platform with appointments, whose list shifts when one is booked. Its clock, in seconds, advances with each change and
 * each answer.
 *
 * @param start its first time
 */
export function listedAppointments(start = noon + 30 * daySeconds) {
  const listed: Listed[] = [];
  let now = start;
  let asked = 0;

  const callbackAbout = ({ appointment_id, patient_id, status, created_at }: Listed) =>
    appointmentCallback({
      event: status === 'BK' ? 'appointment.created' : 'appointment.statuschange',
      event_time: now,
      data: { appointment_id, patient_id, status, created_at, modified_at: now },
    });

  const platform: Platform & { beforeAnswer: (count: number) => Promise<void> } = {
    /** Called before each answer with the number of answers before: here the list changes. */
    beforeAnswer: async () => {},
    business: async () => business,
    appointmentsPage: async (from, to, pageNo) => {
      await platform.beforeAnswer(asked++);
      now += 3;
      const isOf = ({ start_time: start }: Listed) => {
        const day = new Date((start + 19_800) * 1000).toISOString().slice(0, 10);
        return day >= from && day < to;
      };
      const appointments = listed.filter(isOf).slice(pageNo * pageSize, (pageNo + 1) * pageSize);
      const copies = appointments.map(({ prev_aids, next_aid, ...listed }) => listed);
      return { appointments: copies, isLast: copies.length < pageSize, answeredAt: new Date(now * 1000) };
    },
  };

  return {
    platform,
    listed,
    /** Books one, at the head of the list, for a day from 0. @returns its callback */
    book: (day: number, more: Partial<Listed> = {}) => {
      now += 1;
      const one: Listed = {
        appointment_id: `api-${listed.length + 1}`,
        patient_id: `patient-${listed.length + 1}`,
        ...{
          status: 'BK',
          created_at: noon + (day - (day % 3)) * daySeconds,
          start_time: noon + day * daySeconds,
        },
        ...{ mode: 'in_clinic', prescription_id: null, partner_patient_id: '' },
        ...more,
      };
      listed.unshift(one);
      return callbackAbout(one);
    },
    /** Changes the status of one; it moves to the end of the list. @returns its callback */
    change: (index: number, status: string) => {
      now += 1;
      const [one] = listed.splice(index % listed.length, 1);
      one!.status = status;
      listed.push(one!);
      return callbackAbout(one!);
    },
  };
}
