import fc from 'fast-check';
import { appointmentCallback, type Callback, deliveryOf } from '../../support/callbacks.ts';
import { useDatabase } from '../../support/database.ts';
import { apply, clear, seconds } from '../../support/deliveries.ts';

const database = useDatabase();
beforeEach(() => clear(database));

// Midnight in India is 18:30 UTC.
const midnight = seconds('2024-03-01T18:30:00Z');
const hour = 3600;

interface Version {
  event: string;
  event_time: number;
  business_id: string;
  appointment_id: string;
  status: string | null;
  clinic_id: string | null;
  created_at: number | null;
  modified_at: number | null;
}

const callbackOf = ({ event, event_time, business_id, ...data }: Version): Callback =>
  appointmentCallback({ event: `appointment.${event}`, event_time, business_id, data });

const lifeCycle = ['created', 'updated', 'statuschange', 'assessments.taken'];
const fewTimes = (more: number) => fc.integer({ min: 0, max: more }).map((hours) => midnight + hours * hour);

/** Versions of a few appointments in any order, with ties in all their times. */
const versions: fc.Arbitrary<Version[]> = fc.array(
  fc.record({
    event: fc.constantFrom(...lifeCycle),
    event_time: fewTimes(3),
    business_id: fc.constantFrom('b1', 'b2'),
    appointment_id: fc.constantFrom('a1', 'a2', 'a3', 'a4', 'a5'),
    status: fc.constantFrom(
      'BK',
      'OG',
      'CM',
      'CMNP',
      'CM',
      'CMNP',
      'CN',
      'CND',
      'CNS',
      'CK',
      'NS',
      'PNR',
      'AB',
      'RES',
      'odd',
      null,
    ),
    clinic_id: fc.constantFrom('c1', null),
    created_at: fc.option(fewTimes(30).map((at) => at - 28 * hour)),
    modified_at: fc.option(fewTimes(2)),
  }),
  { minLength: 1, maxLength: 30 },
);

const applyInParts = async (made: Version[]) => {
  for (let at = 0; at < made.length; at += 4) {
    await apply(database, made.slice(at, at + 4).map(callbackOf));
  }
};

function groupBy<Value>(values: Value[], keyOf: (value: Value) => string): Map<string, Value[]> {
  const groups = new Map<string, Value[]>();
  for (const value of values) groups.set(keyOf(value), [...(groups.get(keyOf(value)) ?? []), value]);
  return groups;
}

/** The versions of each appointment in their order: by event time, time of the change, life cycle, delivery. */
function model(made: Version[]): Version[][] {
  const deliveries = new Map(made.map((one) => [deliveryOf(callbackOf(one)).id, one]));
  const ordered = [...deliveries]
    .map(([id, one]) => {
      const order = [one.event_time, one.modified_at ?? 0, lifeCycle.indexOf(one.event)];
      return { one, key: order.map((n) => String(n).padStart(12)).join() + id };
    })
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ one }) => one);
  return [...groupBy(ordered, ({ business_id, appointment_id }) => business_id + appointment_id).values()];
}

it('appointment_history numbers the versions of an appointment in their order, whatever the order of arrival', async () => {
  await fc.assert(
    fc.asyncProperty(versions, async (made) => {
      await clear(database);
      await applyInParts(made);
      const rows = await database.rows(
        'select business_id, appointment_id, version::int, event, status from reporting.appointment_history order by 1, 2, 3',
      );
      const expected = model(made)
        .flatMap((ordered) =>
          ordered.map(({ business_id, appointment_id, event, status }, index) => ({
            business_id,
            appointment_id,
            version: index + 1,
            event: `appointment.${event}`,
            status,
          })),
        )
        .sort((a, b) => {
          const key = (row: typeof a) =>
            `${row.business_id} ${row.appointment_id} ${String(row.version).padStart(3)}`;
          return key(a) < key(b) ? -1 : 1;
        });
      expect(rows).toEqual(expected);
    }),
    { numRuns: 40 },
  );
});

const share = (part: number, whole: number) => (whole === 0 ? null : part / whole);

/** What appointments_daily has to show, by business, clinic and day. */
function dailyModel(made: Version[]) {
  const isCompleted = ({ status }: Version) => status === 'CM' || status === 'CMNP';
  const things = model(made).map((ordered) => {
    const newest = ordered.at(-1)!;
    const first = Math.min(...ordered.map(({ event_time }) => event_time));
    const booked = ordered.findLast(({ created_at }) => created_at !== null)?.created_at ?? first;
    const completing = isCompleted(newest) ? ordered.find(isCompleted) : undefined;
    const day = new Date((booked + 5.5 * hour) * 1000).toISOString().slice(0, 10);
    return {
      group: `${newest.business_id} ${newest.clinic_id} ${day}`,
      status: newest.status,
      hours: completing ? ((completing.modified_at ?? completing.event_time) - booked) / hour : null,
    };
  });
  const groups = groupBy(things, ({ group }) => group);
  return new Map([...groups].map(([group, ofGroup]) => [group, figuresOf(ofGroup)]));
}

function figuresOf(things: { status: string | null; hours: number | null }[]) {
  const count = (...statuses: (string | null)[]) =>
    things.filter(({ status }) => statuses.includes(status)).length;
  const hours = things.flatMap((thing) => thing.hours ?? []).sort((a, b) => a - b);
  const at = (index: number) => hours[Math.floor(index)]!;
  const completed = count('CM', 'CMNP');
  const cancelled = count('CN', 'CND', 'CNS', 'PNR');
  const notRescheduled = things.length - count('RES');
  return {
    appointments: things.length,
    booked: count('BK', 'CK'),
    ongoing: count('OG'),
    completed,
    completed_without_prescription: count('CMNP'),
    cancelled,
    cancelled_by_patient: count('CN'),
    cancelled_by_doctor: count('CND'),
    cancelled_by_staff: count('CNS'),
    no_show: count('NS'),
    aborted: count('AB'),
    rescheduled: count('RES'),
    other: count('odd', null),
    completed_share: share(completed, notRescheduled),
    cancelled_share: share(cancelled, notRescheduled),
    no_show_share: share(count('NS'), notRescheduled),
    rescheduled_share: share(count('RES'), things.length),
    without_prescription_share: share(count('CMNP'), completed),
    completion_average_hours: share(
      hours.reduce((sum, n) => sum + n, 0),
      hours.length,
    ),
    completion_median_hours: share(at((hours.length - 1) / 2) + at(hours.length / 2), hours.length && 2),
  };
}

it('appointments_daily has the counts, shares and times of a model, whatever the order of arrival', async () => {
  await fc.assert(
    fc.asyncProperty(versions, async (made) => {
      await clear(database);
      await applyInParts(made);
      const rows = await database.rows(
        `select concat_ws(' ', business_id, coalesce(clinic_id, 'null'), day) as "group", to_jsonb(d) as figures
         from reporting.appointments_daily d`,
      );
      const expected = dailyModel(made);
      expect(rows.map(({ group }) => group).sort()).toEqual([...expected.keys()].sort());
      for (const { group, figures } of rows) {
        const close = Object.entries(expected.get(group as string)!).map(([name, value]) => {
          // Figures are rounded; the half of the last digit may go either way.
          const digits = name.endsWith('_share') ? 4 : 2;
          return [name, value === null ? null : expect.closeTo(value, digits - 0.01)];
        });
        expect({ group, ...(figures as object) }).toMatchObject({ group, ...Object.fromEntries(close) });
      }
    }),
    { numRuns: 60 },
  );
});
