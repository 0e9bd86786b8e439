import fc from 'fast-check';
import { createLog } from '../../../src/common/log.ts';
import { classOf, type Family, takesEveryEvent } from '../../../src/receiver/families/family.ts';
import { families } from '../../../src/receiver/families/index.ts';
import type { Delivery, Intake } from '../../../src/receiver/intake/delivery.ts';
import { keyOf } from '../../../src/receiver/store/columns.ts';
import { fingerprintOf } from '../../../src/receiver/store/migrate.ts';
import { createMerge } from '../../../src/receiver/worker/merge.ts';
import { samples } from '../../../src/sandbox/samples.ts';
import { useReceiverDatabase } from '../support/database.ts';
import { deliveryOf, openIntake, routeOf } from '../support/intake.ts';

const database = useReceiverDatabase();
const merge = () =>
  createMerge({
    pool: database.pool,
    families,
    fingerprint: fingerprintOf(families),
    log: createLog('silent'),
  });
let intake: Intake;
beforeAll(() => {
  intake = openIntake(database);
});
afterAll(() => intake.close());

const all = families as readonly Family[];
const start = Math.floor(Date.now() / 1000) - 86_400;
type Data = Record<string, unknown>;

/** Of when something was done: an empty time, the year 2000, and the day after tomorrow. */
const nonsense = [0, 946_684_000, start + 2 * 86_400];
/** Values of a field, as senders write them: those that fit are equal to what is read back. */
const valuesOf: Record<string, fc.Arbitrary<unknown>> = {
  text: fc.oneof(fc.constant(null), fc.constantFrom('', 'a', 'b', 5)),
  untyped: fc.constantFrom(null, 'a', 7),
  integer: fc.oneof(fc.constantFrom(null, 0, 1, '2', '', true, 1.5, 'x')),
  amount: fc.oneof(fc.constantFrom(null, 0, 450.5, '450.50', '', true, 'a lot', {})),
  time: fc.constantFrom(null, start - 5, (start - 5) * 1000, 'soon', '', ...nonsense),
  name: fc.constantFrom(null, 'Asha', { first_name: 'Asha', last_name: 'Rao' }, 5),
  nested: fc.constantFrom(null, { a: 1 }, [1, { b: null }]),
};

/** A page's own reading of a value: what its column shows, or `extra`, or nothing. */
function show(kind: string, isSaid: boolean, value: unknown): { column: unknown } | 'extra' | 'nothing' {
  if (isSaid && (value === '' || nonsense.includes(value as number))) return 'nothing';
  if (value === null) return { column: null };
  if (kind === 'nested') return { column: value };
  if (kind === 'text' || kind === 'untyped') return { column: String(value) };
  if (kind === 'name') {
    if (typeof value === 'object') return { column: 'Asha Rao' };
    return typeof value === 'string' ? { column: value } : 'extra';
  }
  if (value === '') return { column: null };
  if (kind === 'time') {
    if (typeof value === 'number' && nonsense.includes(value)) return { column: value * 1000 };
    return value === 'soon' ? 'extra' : { column: (start - 5) * 1000 };
  }
  if (typeof value === 'boolean' || typeof value === 'object' || Number.isNaN(Number(value))) return 'extra';
  if (kind === 'integer' && !Number.isInteger(Number(value))) return 'extra';
  return { column: Number(value) };
}

interface Drawn {
  event: number;
  fields: [number, unknown][];
  unknown: unknown;
  second: number;
  order: number;
  record: number;
  business: string | undefined;
  /** How its key is written, and how it comes in. */
  hasZeros: boolean;
  door: 'http' | 'fallback' | 'replay';
}

const historyOf = ({ fields, events }: Family): fc.Arbitrary<Drawn[]> => {
  const names = Object.keys(fields);
  const field =
    names.length === 0
      ? fc.constant<[number, unknown]>([0, null])
      : fc
          .nat(names.length - 1)
          .chain((at) => fc.tuple(fc.constant(at), valuesOf[fields[names[at]!]!.kind]!));
  const one = fc.record({
    event: fc.nat(Math.max(Object.keys(events).length - 1, 0)),
    fields: fc.array(field, { maxLength: 5 }),
    unknown: fc.constantFrom(undefined, null, 1, 'x'),
    second: fc.nat(3),
    order: fc.nat(1_000),
    record: fc.nat(2),
    business: fc.constantFrom('b0', 'b1', '', undefined),
    hasZeros: fc.boolean(),
    door: fc.constantFrom('http', 'http', 'fallback', 'replay'),
  });
  return fc.array(one, { minLength: 1, maxLength: 12 });
};

/** The callback that was drawn, with the data that it says, by name. */
function callbackOf(family: Family, drawn: Drawn, n: number) {
  const { event, fields, unknown, second, record, business, hasZeros } = drawn;
  const names = Object.keys(family.fields);
  const { identifiedBy, orderedBy } = family;
  const events = Object.keys(family.events).filter((name) => family.events[name] !== 'reconciled');
  const said: Data = {};
  for (const [at, value] of fields) {
    const name = names[at];
    if (name && name !== identifiedBy && name !== orderedBy && !family.fields[name]!.fromEnvelope)
      said[name] = value;
  }
  if (unknown !== undefined) said.further = unknown;
  const isNumber = family.fields[identifiedBy!]?.kind === 'integer';
  const key = isNumber ? (hasZeros ? `0${record}` : record) : hasZeros ? `0${record}` : `r${record}`;
  const sample = (samples as Record<string, { event: string; transaction_id?: string }>)[family.name]!;
  const callback = {
    event: events[event % Math.max(events.length, 1)] ?? sample.event,
    event_time: start + second,
    business_id: business,
    // Each callback is another one, also of equal content.
    partition_id: n,
    ...(sample.transaction_id && { transaction_id: `ipd/b/admissions/a/clearances/r${record}` }),
    data: {
      ...said,
      n,
      ...(identifiedBy && !family.fields[identifiedBy]!.fromEnvelope && { [identifiedBy]: key }),
    },
  };
  return { callback, said: { ...said, n } as Data };
}

it.each(all.map((family) => [family.name, family] as const))(
  'rows of %s are what a page shows that reads all callbacks in order, however and whenever they come in',
  async (_, family) => {
    const columns = Object.keys(family.fields).filter(
      (name) => !family.fields[name]!.fromEnvelope && name !== family.identifiedBy,
    );
    await fc.assert(
      fc.asyncProperty(
        historyOf(family),
        fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
        async (drawn, merges) => {
          await database.rows(
            `truncate receiver.inbox, receiver.pending_deliveries, receiver.changes, public.${family.table}`,
          );
          const sent = drawn.map((one, n) => {
            const { callback, said } = callbackOf(family, one, n);
            return { ...one, said, event: callback.event, delivery: deliveryOf(callback), arrivedAt: 0, n };
          });
          const arriving = sent.toSorted((a, b) => a.order - b.order);
          for (const [n, one] of arriving.entries()) {
            await arrive(one, family);
            if (n % 3 === 0) await arrive(one, family);
            if (merges[n]) await merge()(family.name, { ids: [one.delivery.id] });
          }
          const arrivals = await database.rows(
            'select id, extract(epoch from received_at) as at from receiver.inbox',
          );
          for (const one of sent) {
            const { at } = arrivals.find(({ id }) => id === one.delivery.id)!;
            one.arrivedAt = Number(at);
          }
          await merge()(family.name);
          expect(await database.rows('select * from receiver.pending_deliveries')).toEqual([]);
          const rows = await database.rows(`select * from public.${family.table}`);
          const recordOf = ({ delivery }: (typeof sent)[number]) =>
            JSON.stringify([delivery.businessId, delivery.recordId]);
          const records = new Set(sent.map(recordOf));
          expect(rows).toHaveLength(records.size);
          for (const record of records) {
            const versions = sent.filter((one) => recordOf(one) === record);
            const ordered = versions.toSorted((a, b) => compare(family, a, b));
            const { delivery: newest, event } = ordered.at(-1)!;
            const row = rows.find(
              (one) =>
                String(one.business_id) === newest.businessId &&
                String(one[keyOf(family).at(-1)!]) === newest.recordId,
            )!;
            expect(row).toMatchObject({ delivery_id: newest.id, last_event: event });
            expect(row.deleted_at === null).toBe(classOf(family, event) !== 'deleted');
            const { page, extra } = pageOf(family, ordered);
            expect({ ...extra }).toEqual(row.extra ?? {});
            for (const name of columns) {
              if (name === family.orderedBy) continue;
              expect([name, shown(row[name])]).toEqual([name, page[name] ?? null]);
            }
            // As of a moment: what had been stored by then.
            const arrived = versions.toSorted((a, b) => a.order - b.order || a.n - b.n);
            const known = arrived.slice(0, 1 + (drawn.length % arrived.length));
            const [then] = await database.rows(
              `select receiver.jsonb_merge(coalesce(data, envelope->'data') order by version)->>'n' as n
               from receiver.inbox where (business_id, record_id) = ($1, $2)
                 and stored_at <= (select stored_at from receiver.inbox where id = $3)`,
              [newest.businessId, newest.recordId, known.at(-1)!.delivery.id],
            );
            const last = known.toSorted((a, b) => compare(family, a, b)).at(-1)!;
            expect(Number(then!.n)).toBe(last.n);
          }
        },
      ),
      { numRuns: 15 },
    );
  },
);

/** A callback comes in through its door. */
async function arrive(
  { door, delivery, event }: { door: Drawn['door']; delivery: Delivery; event: string },
  family: Family,
) {
  const { id, body } = delivery;
  if (door === 'fallback')
    await intake.drain({ id, family: family.name, body, receivedAt: Date.now() * 1000 });
  else if (door === 'replay') await intake.replay(body, routeOf(family.name).path, { dryRun: false });
  else
    await intake.receive(
      body,
      takesEveryEvent(family) || event === '' ? routeOf('other') : routeOf(family.name),
    );
}

function pageOf(family: Family, ordered: readonly { said: Data; event: string }[]) {
  const page: Data = {};
  const extra: Data = {};
  for (const { said, event } of ordered)
    read(family, said, classOf(family, event) === 'deleted', page, extra);
  return { page, extra };
}

function read(
  { fields, facts = {} }: Family,
  said: Data,
  isDeletion: boolean,
  page: Data,
  extra: Data,
): void {
  const given = new Set<string>();
  for (const [name, value] of Object.entries(said)) {
    if (isDeletion && value === null) continue;
    const field = fields[name];
    const seen = field ? show(field.kind, field.isSaid !== undefined, value) : 'extra';
    if (seen === 'extra') extra[name] = value;
    else if (seen !== 'nothing' && !(isDeletion && seen.column === null)) {
      page[name] = seen.column;
      given.add(name);
    }
  }
  if (!isDeletion)
    for (const [lead, others] of Object.entries(facts))
      if (given.has(lead)) for (const name of others) if (!given.has(name)) page[name] = null;
}

/** The seconds, then the class, then the arrival: no callback of these has a change time. */
function compare(
  family: Family,
  a: { event: string; second: number; arrivedAt: number },
  b: typeof a,
): number {
  if (a.second !== b.second) return a.second - b.second;
  const rank = ({ event }: typeof a) =>
    ['reconciled', 'created', 'updated', 'deleted'].indexOf(classOf(family, event));
  const last = ({ event }: typeof a) => (classOf(family, event) === 'deleted' ? 1 : 0);
  return last(a) - last(b) || rank(a) - rank(b) || a.arrivedAt - b.arrivedAt;
}

function shown(value: unknown): unknown {
  if (value instanceof Date) return value.getTime();
  if (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value)) return numeric(value);
  return value;
}
const numeric = (text: string) => (Number(text) === 5 || Number(text) === 7 ? text : Number(text));
