import fc from 'fast-check';
import { appointmentCallback, type Callback, deliveryOf, receiptCallback } from '../../support/callbacks.ts';
import { useDatabase } from '../../support/database.ts';
import { apply, clear } from '../../support/deliveries.ts';

const database = useDatabase();

const second = 1_700_000_000;
const lifeCycle = ['created', 'updated', 'statuschange'];
const ids = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6'];
// The last two never arrive.
const anyId = fc.constantFrom(...ids, 'x1', 'x2');

interface Version {
  event: string;
  event_time: number;
  business_id: string;
  appointment_id: string;
  status: string;
  created_at: number | null;
  prev_aids?: string[] | string;
  next_aid?: string;
}

/** Versions of a few appointments whose links make chains, forks and circles, with ties in all their times. */
const versions: fc.Arbitrary<Version[]> = fc.array(
  fc.record(
    {
      event: fc.constantFrom(...lifeCycle),
      event_time: fc.integer({ min: second, max: second + 3 }),
      business_id: fc.constantFrom('b1', 'b1', 'b2'),
      appointment_id: fc.constantFrom(...ids),
      status: fc.constantFrom('BK', 'CM', 'NS', 'RES'),
      created_at: fc.option(fc.integer({ min: second - 3, max: second })),
      prev_aids: fc.oneof(fc.array(anyId, { maxLength: 2 }), anyId),
      next_aid: anyId,
    },
    { requiredKeys: ['event', 'event_time', 'business_id', 'appointment_id', 'status', 'created_at'] },
  ),
  { minLength: 1, maxLength: 14 },
);

const callbackOf = ({ event, event_time, business_id, ...data }: Version): Callback =>
  appointmentCallback({
    event: `appointment.${event}`,
    event_time,
    business_id,
    data: { modified_at: null, prev_aids: undefined, next_aid: undefined, ...data },
  });

interface Appointment {
  id: string;
  key: string;
  business: string;
  status: string;
  booked: number;
}

/** Each appointment: by event time, life cycle, delivery. It was booked when a version says so, else at its first event. */
function newestOf(made: Version[]): Appointment[] {
  const newest = new Map<string, { order: string; appointment: Appointment }>();
  const booked = new Map<string, { order: string; at: number }>();
  const first = new Map<string, number>();
  for (const one of made) {
    const { event, event_time, business_id: business, appointment_id: id, status, created_at } = one;
    const key = `${business} ${id}`;
    const order = `${event_time} ${lifeCycle.indexOf(event)} ${deliveryOf(callbackOf(one)).id}`;
    if ((newest.get(key)?.order ?? '') < order)
      newest.set(key, { order, appointment: { id, key, business, status, booked: 0 } });
    if (created_at !== null && (booked.get(key)?.order ?? '') < order)
      booked.set(key, { order, at: created_at });
    first.set(key, Math.min(first.get(key) ?? event_time, event_time));
  }
  return [...newest.values()].map(({ appointment }) => {
    const at = booked.get(appointment.key)?.at ?? first.get(appointment.key)!;
    return { ...appointment, booked: at };
  });
}

/** Pairs of an earlier and a later appointment that any version states. */
const linksOf = (made: Version[]): [string, string][] =>
  made.flatMap(({ business_id, appointment_id, prev_aids = [], next_aid }) => {
    const key = (id: string) => `${business_id} ${id}`;
    const own = key(appointment_id);
    const earlier = [prev_aids].flat().map((id): [string, string] => [key(id), own]);
    const later: [string, string][] = next_aid ? [[own, key(next_aid)]] : [];
    return [...earlier, ...later].filter(([one, other]) => one !== other);
  });

/** Whatever is connected, by the smallest key of it. */
function connected(keys: string[], links: [string, string][]): string[][] {
  const groups = keys.map((key) => new Set([key]));
  for (const link of links) {
    const [one, other] = link.map((key) => groups.find((group) => group.has(key))!);
    if (one === other) continue;
    for (const key of other!) one!.add(key);
    groups.splice(groups.indexOf(other!), 1);
  }
  return groups.map((group) => [...group]);
}

function visitsOf(made: Version[]) {
  const appointments = newestOf(made);
  const links = linksOf(made);
  const keys = [...new Set([...appointments.map(({ key }) => key), ...links.flat()])];
  return connected(keys, links).flatMap((group) => {
    const known = appointments.filter(({ key }) => group.includes(key));
    if (known.length === 0) return [];
    const rank = (side: 0 | 1, { key }: Appointment) => (links.some((link) => link[side] === key) ? 1 : 0);
    const inOrder = (side: 0 | 1) =>
      known.toSorted((a, b) => {
        const byTime = a.booked - b.booked || (a.id < b.id ? -1 : 1);
        return rank(side, a) - rank(side, b) || (side === 1 ? byTime : -byTime);
      })[0]!;
    const [first, last] = [inOrder(1), inOrder(0)];
    return {
      business_id: last.business,
      visit_id: last.id,
      first: first.id,
      first_booked_at: first.booked,
      booked_at: last.booked,
      status: last.status,
      reschedules: group.length - 1,
      // Each appointment has one.
      receipts: group.filter((key) => !key.includes('x')).length,
    };
  });
}

const byVisit = <Row extends { business_id: unknown; visit_id: unknown }>(rows: Row[]) =>
  rows.toSorted((a, b) => (`${a.business_id} ${a.visit_id}` < `${b.business_id} ${b.visit_id}` ? -1 : 1));

const receipts = ['b1', 'b2'].flatMap((business_id) =>
  ids.map((aid, index) => receiptCallback({ business_id, data: { receipt_id: index + 1, aid } })),
);

it('each appointment belongs to one visit, whatever links them and in whatever order, and however often, callbacks arrive', async () => {
  const arrivals = versions.chain((made) =>
    fc.record({
      made: fc.constant(made),
      order: fc.shuffledSubarray([...made, ...made], { minLength: made.length * 2 }),
      size: fc.integer({ min: 1, max: 6 }),
    }),
  );
  await fc.assert(
    fc.asyncProperty(arrivals, async ({ made, order, size }) => {
      await clear(database);
      await apply(database, receipts);
      for (let at = 0; at < order.length; at += size)
        await apply(database, order.slice(at, at + size).map(callbackOf));
      const rows = await database.rows(`
        select business_id, visit_id, first_appointment_id as first, extract(epoch from first_booked_at)::int as first_booked_at,
               extract(epoch from booked_at)::int as booked_at, status, reschedules, receipts::int
        from reporting.visits`);
      expect(byVisit(rows as never)).toEqual(byVisit(visitsOf(made)));
    }),
    { numRuns: 40 },
  );
});
