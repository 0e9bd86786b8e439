import { hexId, newClinic } from '../clinic.ts';
import { documentedEvent, type Envelope } from '../families.ts';
import { type Callback, callbackOf, type HistoryOptions, spellerOf, timesOf } from '../history.ts';
import { removeAt, seededRandom } from '../random.ts';
import type { ScenarioEvent } from '../scenarios/scenario.ts';
import { newRecords } from './records.ts';
import { openVisit, type Version, visitScenario } from './visits.ts';

export interface BookOptions extends Pick<HistoryOptions, 'seed' | 'clientId' | 'families' | 'spelling'> {
  /** When the first appointment is booked, milliseconds since 1970; the others follow until an hour ago. */
  readonly start: number;
  /** Number of appointments, both links of each rescheduled one included. */
  readonly appointments: number;
  /** How many have no callback that is sent. Default: 0. */
  readonly unsent?: number | undefined;
  /** How many have a last change of status that is not sent. Default: 0. */
  readonly differing?: number | undefined;
  /** So many are moved to another appointment. Default: 0. */
  readonly rescheduled?: number | undefined;
  /** Default: generated from the seed. */
  readonly businessId?: string | undefined;
}

const hour = 3_600_000;
const openStatuses = ['BK', 'CK', 'IN', 'PA', 'OG'];

export type AppointmentBook = ReturnType<typeof appointmentBook>;

/**
 * The appointments of one practice: the platform's records of them, and the callbacks about them, of which some are never
 * sent. Raises RangeError if there are too few appointments.
 */
export function appointmentBook(options: BookOptions) {
  const { seed, families, appointments, unsent = 0, differing = 0, rescheduled = 0 } = options;
  const ordinary = appointments - unsent - differing - 2 * rescheduled;
  if (ordinary < 0) throw new RangeError(`at least ${appointments - ordinary} appointments are needed`);
  if (families && !families.includes('appointment')) throw new RangeError('the families lack appointment');
  const random = seededRandom(seed, 3);
  const clinic = newClinic(random, options.businessId);
  const clientId = options.clientId ?? hexId(random);
  const records = newRecords(clinic.businessId);
  const spell = spellerOf(options);
  const open: Version[] = [];
  let number = 0;

  /** The event's callback, where its family is sent. The records change in any case. */
  function callbacksOf({ event, data }: ScenarioEvent, now: number): Callback[] {
    const { family } = documentedEvent(event);
    const ids = { client_id: clientId, business_id: clinic.businessId };
    const envelope: Envelope = { event, ...timesOf(family, now, random), ...ids, data };
    records.take(envelope);
    if (families && !families.includes(family)) return [];
    return [callbackOf(number++, envelope, spell(envelope))];
  }

  return {
    records,

    /** All appointments, one after the other: the callbacks that are sent. */
    *past(): Generator<Callback, void> {
      const fates = Object.entries({ ordinary, unsent, differing, rescheduled }).flatMap(([fate, count]) =>
        Array.from({ length: count }, () => fate),
      );
      const count = fates.length;
      const span = Math.max(0, Date.now() - hour - options.start);
      for (let index = 0; index < count; index++) {
        const fate = removeAt(fates, random.between(0, fates.length - 1));
        let now = options.start + Math.floor((span * index) / count);
        const scenario = visitScenario(random, clinic, now, fate === 'rescheduled');
        const callbacks: Callback[][] = [];
        let step = scenario.next(now);
        for (; !step.done; step = scenario.next(now)) {
          callbacks.push(callbacksOf(step.value, now));
          now += random.between(1_000, 60_000);
        }
        if (fate === 'ordinary') open.push(step.value);
        if (fate === 'differing') callbacks.pop();
        if (fate !== 'unsent') yield* callbacks.flat();
      }
    },

    /** Endless: the practice takes new appointments, and changes the status of those whose callbacks were all sent. */
    *present(): Generator<Callback, never> {
      for (;;) {
        const now = Date.now();
        if (open.length === 0 || random.chance(0.3)) {
          const { version, booking } = openVisit(random, clinic, now);
          open.push(version);
          yield* callbacksOf(booking, now);
        } else {
          const status = random.pick(openStatuses);
          yield* callbacksOf(random.pick(open)('appointment.statuschange', now, { status }), now);
        }
      }
    },
  };
}
