import fc from 'fast-check';
import type { Delivery } from '../../../src/callbacks/delivery.ts';
import { classOf, type Family, takesEveryEvent } from '../../../src/callbacks/families/family.ts';
import type { Field, KindName } from '../../../src/callbacks/families/field.ts';
import { families } from '../../../src/callbacks/families/index.ts';
import { sampleOf } from '../../../src/callbacks/families/sample.ts';
import { createLog } from '../../../src/common/log.ts';
import type { Intake } from '../../../src/receiver/intake/intake.ts';
import { keyOf } from '../../../src/receiver/store/columns.ts';
import { createMerge } from '../../../src/receiver/worker/merge.ts';
import { deliveryOf, openIntake, routeOf } from '../../support/intake.ts';
import { useReceiverDatabase } from '../../support/receiver-database.ts';

const database = useReceiverDatabase();
const merge = () => createMerge({ pool: database.pool, families, log: createLog('silent') });
let intake: Intake;
beforeAll(() => {
  intake = openIntake(database);
});
afterAll(() => intake.close());

const all = families as readonly Family[];
const start = Math.floor(Date.now() / 1000) - 86_400;
type Data = Record<string, unknown>;

/** A number that a double cannot represent: a text until `bodyOf` writes it. */
const long = (digits: string) => `long:${digits}`;
const bodyOf = (callback: object) => JSON.stringify(callback).replace(/"long:([\d.]+)"/g, '$1');

/** What senders write, and what a page shows of it: in the column, in `extra`, or nothing. */
type Shown = { column: unknown } | 'extra' | 'nothing';
type Value = [value: unknown, shown: Shown | ((field: Field) => Shown)];
const as = (column: unknown): Shown => ({ column });
const same = (...values: unknown[]): Value[] => values.map((value) => [value, as(value)]);
const unfitValues = (...values: unknown[]): Value[] => values.map((value) => [value, 'extra']);
const unlessActionTime =
  (column: unknown) =>
  ({ isActionTime }: Field): Shown =>
    isActionTime ? 'nothing' : as(column);

const ahead = start + 3 * 86_400;
const times: Value[] = [
  [null, as(null)],
  [start + 1, as((start + 1) * 1000)],
  [(start + 1) * 1000 + 250, as((start + 1) * 1000 + 250)],
  [String(start + 2), as((start + 2) * 1000)],
  [new Date(start * 1000 + 500).toISOString().replace('T', ' '), as(start * 1000 + 500)],
  [long(`${start}.123456789`), as(start * 1000 + 123)],
  ['', unlessActionTime(null)],
  [0, unlessActionTime(0)],
  ['0', unlessActionTime(0)],
  [1_000, unlessActionTime(1_000_000)],
  [946_684_000, unlessActionTime(946_684_000_000)],
  ['0001-01-01T00:00:00Z', ({ isActionTime }) => (isActionTime ? 'nothing' : 'extra')],
  [ahead, ({ isActionTime }) => (isActionTime === true ? 'nothing' : as(ahead * 1000))],
  ...unfitValues('soon', {}, [start], true),
];
const valuesOf: Record<KindName, Value[]> = {
  text: [
    ...same(null, '', 'a', 'b'),
    [5, as('5')],
    [long('98765432109876543210'), as('98765432109876543210')],
    ...unfitValues({ a: 1 }, ['a'], true),
  ],
  untyped: [
    ...same(null, 'a'),
    [7, as('7')],
    [true, as('true')],
    [{ a: 1 }, ({ personal }) => (personal === false ? 'extra' : as('{"a": 1}'))],
  ],
  integer: [
    ...same(null, 0, 1),
    ['2', as(2)],
    ['', as(null)],
    [long('9007199254740993'), as('9007199254740993')],
    ...unfitValues(true, 1.5, 'x', [1], 1e19),
  ],
  amount: [
    ...same(null, 0, 450.5),
    ['450.50', as(450.5)],
    ['', as(null)],
    [long('0.1234567890123456789'), as('0.1234567890123456789')],
    [long('123456789012.12345678'), as('123456789012.12345678')],
    ...unfitValues(true, 'a lot', {}, [1], 1e30),
  ],
  time: times,
  name: [
    ...same(null, 'Asha'),
    [{ first_name: 'Asha', last_name: 'Rao' }, as('Asha Rao')],
    ...unfitValues(5, true, ['Asha']),
  ],
  nested: same(null, { a: 1 }, [1, { b: null }]),
};
const drawn = (values: Value[]) => fc.constantFrom(...values);

const drawnCallback = fc.record({
  event: fc.nat(20),
  // Which fields, from those of the history, and which of the values of their kind.
  fields: fc.array(fc.tuple(fc.nat(3), fc.nat(100)), { maxLength: 4 }),
  unknown: fc.constantFrom(undefined, null, 1, 'x'),
  second: fc.constantFrom(0, 0, 0, 1),
  ms: fc.constantFrom(0, 0, 0, 500),
  change: fc.oneof(fc.constant(undefined), drawn(times.slice(1, 6)), drawn(times)),
  timestamp: fc.constantFrom(undefined, undefined, start, (start + 1) * 1000),
  client: fc.constantFrom('c0', 'c1', '', undefined),
  order: fc.nat(1_000),
  record: fc.nat(1),
  business: fc.constantFrom('b0', 'b0', 'b1', '', undefined),
  hasZeros: fc.boolean(),
  door: fc.constantFrom('http', 'http', 'fallback', 'replay'),
});
type Drawn = typeof drawnCallback extends fc.Arbitrary<infer T> ? T : never;
/** Few fields, so that callbacks say something about the same ones. */
const history = fc.record({
  first: fc.nat(100),
  callbacks: fc.array(drawnCallback, { minLength: 1, maxLength: 12 }),
});

/** The callback that was drawn, with what a page shows of its data, by name. */
function callbackOf(family: Family, one: Drawn, first: number, n: number) {
  const { event, fields, unknown, second, ms, change, timestamp, client, record, business, hasZeros } = one;
  const { key: keyField, changeTime } = family;
  const names = Object.keys(family.fields).filter(
    (name) => name !== keyField && name !== changeTime && !family.fields[name]!.fromEnvelope,
  );
  const events = Object.keys(family.events).filter((name) => family.events[name] !== 'reconciled');
  const given: Record<string, Value> = {};
  for (const [at, value] of names.length > 0 ? fields : []) {
    const name = names[(first + at) % names.length]!;
    const values = valuesOf[family.fields[name]!.kind];
    given[name] = values[value % values.length]!;
  }
  if (unknown !== undefined) given.further = [unknown, 'extra'];
  given.n = [n, 'extra'];
  if (changeTime && change) given[changeTime] = change;
  const isNumber = family.fields[keyField!]?.kind === 'integer';
  const key = isNumber ? (hasZeros ? `0${record}` : record) : hasZeros ? `0${record}` : `r${record}`;
  const eventMs = (start + second) * 1000 + ms;
  const callback = {
    event: events[event % Math.max(events.length, 1)] ?? 'x.unknown',
    event_time: ms > 0 ? eventMs : start + second,
    timestamp,
    client_id: client,
    business_id: business,
    // Each callback is another one, also of equal content.
    partition_id: n,
    ...(sampleOf(family).transaction_id && { transaction_id: `ipd/b/admissions/a/clearances/r${record}` }),
    data: {
      ...Object.fromEntries(Object.entries(given).map(([name, [value]]) => [name, value])),
      ...(keyField && !family.fields[keyField]!.fromEnvelope && { [keyField]: key }),
    },
  };
  const said = Object.entries(given).map(([name, [value, shown]]) => {
    const field = family.fields[name];
    return { name, value, shown: !field ? 'extra' : typeof shown === 'function' ? shown(field) : shown };
  });
  const changed = changeTime ? said.find(({ name }) => name === changeTime)?.shown : undefined;
  const changeMs = typeof changed === 'object' ? (changed.column as number | null) : null;
  const timestampMs = timestamp === undefined ? 0 : timestamp > 1e11 ? timestamp : timestamp * 1000;
  return { family, callback, said, eventMs, changeMs: changeMs ?? undefined, timestampMs };
}
type Sent = Omit<Drawn, 'event'> &
  ReturnType<typeof callbackOf> & { event: string; delivery: Delivery; arrivedAt: number; n: number };

it.each(all.map((family) => [family.name, family] as const))(
  'rows of %s are those of a model that reads all callbacks in order',
  async (_, family) => {
    await fc.assert(
      fc.asyncProperty(
        history,
        fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
        async ({ first, callbacks }, merges) => {
          await database.rows(
            `truncate receiver.inbox, receiver.pending_deliveries, receiver.changes, public.${family.table}`,
          );
          const sent = callbacks.map((one, n): Sent => {
            const read = callbackOf(family, one, first, n);
            const { event } = read.callback;
            return { ...one, ...read, event, delivery: deliveryOf(bodyOf(read.callback)), arrivedAt: 0, n };
          });
          const arriving = sent.toSorted((a, b) => a.order - b.order);
          for (const [n, one] of arriving.entries()) {
            await arrive(one, family);
            if (n % 3 === 0) await arrive(one, family);
            if (merges[n]) await merge()(family.name);
          }
          const arrivals = await database.rows(
            'select id, (extract(epoch from received_at) * 1000000)::bigint as at from receiver.inbox',
          );
          for (const one of sent) {
            const { at } = arrivals.find(({ id }) => id === one.delivery.id)!;
            one.arrivedAt = Number(at);
          }
          await merge()(family.name);
          expect(await database.rows('select * from receiver.pending_deliveries')).toEqual([]);
          const rows = await database.rows(`select * from public.${family.table}`);
          const recordOf = ({ delivery }: Sent) => JSON.stringify([delivery.businessId, delivery.recordId]);
          const records = new Set(sent.map(recordOf));
          expect(rows).toHaveLength(records.size);
          for (const record of records) {
            const versions = sent.filter((one) => recordOf(one) === record);
            const { delivery: newest } = versions[0]!;
            const row = rows.find(
              (one) =>
                String(one.business_id) === newest.businessId &&
                String(one[keyOf(family).at(-1)!]) === newest.recordId,
            );
            expect(shownOf(family, row!)).toEqual(shownOf(family, rowOf(family, versions.toSorted(compare))));
          }
        },
      ),
      { numRuns: 25 },
    );
  },
);

async function arrive(
  { door, delivery, event }: { door: Drawn['door']; delivery: Delivery; event: string },
  family: Family,
) {
  const { id, body } = delivery;
  if (door === 'fallback')
    await intake.drain({ id, family: family.name, body, receivedAt: Date.now() * 1000 });
  else if (door === 'replay') await intake.replay(body, { dryRun: false, family: family.name });
  else
    await intake.receive(
      body,
      takesEveryEvent(family) || event === '' ? routeOf('other') : routeOf(family.name),
    );
}

/** The row of a record, of its callbacks in their order. */
function rowOf(family: Family, ordered: readonly Sent[]): Data {
  const page: Data = {};
  const extra: Data = {};
  const set = (name: string, column: unknown) => {
    page[name] = column;
    // What did not fit before.
    delete extra[name];
  };
  for (const { said, event } of ordered) {
    const isDeletion = classOf(family, event) === 'deleted';
    const given = new Set<string>();
    for (const { name, value, shown } of said) {
      if (shown === 'nothing' || (isDeletion && value === null)) continue;
      given.add(name);
      if (shown === 'extra') extra[name] = value;
      else if (!isDeletion || shown.column !== null) set(name, shown.column);
    }
    for (const [lead, others] of Object.entries(isDeletion ? {} : (family.dependentFields ?? {})))
      if (said.some(({ name, shown }) => name === lead && typeof shown === 'object'))
        for (const name of others) if (!given.has(name)) set(name, null);
  }
  const newest = ordered.at(-1)!;
  const { callback, delivery, event, eventMs } = newest;
  const columns = Object.keys(family.fields).map((name) => [name, page[name] ?? null]);
  const fromEnvelope = Object.entries(family.fields).flatMap(([name, field]) =>
    field.fromEnvelope ? [[name, name === 'admission_id' ? 'a' : callback.transaction_id]] : [],
  );
  return {
    ...Object.fromEntries([...columns, ...fromEnvelope]),
    ...(family.key && { [family.key]: delivery.recordId }),
    business_id: delivery.businessId,
    client_id: ordered.findLast((one) => one.delivery.clientId !== '')?.delivery.clientId ?? '',
    last_event: event,
    event_time: eventMs,
    deleted_at: classOf(family, event) === 'deleted' ? eventMs : null,
    extra,
    delivery_id: delivery.id,
  };
}

/** Seconds, then the class, then all of the times, the arrival and the id. */
function compare(a: Sent, b: Sent): number {
  const second = (ms: number) => Math.floor(ms / 1000);
  const keys = ({ family, event, eventMs, changeMs, timestampMs, arrivedAt, delivery }: Sent) => {
    const kind = classOf(family, event);
    const change = changeMs ?? (kind === 'deleted' ? Number.POSITIVE_INFINITY : eventMs);
    const rank = ['reconciled', 'created', 'updated', 'deleted'].indexOf(kind);
    const end = Number.parseInt(delivery.id.slice(24), 16);
    return [second(eventMs), second(change), rank, change, eventMs, timestampMs, arrivedAt, end];
  };
  const [first, other] = [keys(a), keys(b)];
  const at = first.findIndex((key, index) => key !== other[index]);
  return at < 0 ? 0 : first[at]! - other[at]!;
}

/** A row with its numbers and times as texts: 450.50 is 450.5. */
function shownOf({ fields }: Family, row: Data): Data {
  const shown = (name: string, value: unknown) => {
    if (value instanceof Date) return value.getTime();
    const isNumber = ['integer', 'amount'].includes(fields[name]?.kind ?? '') && value !== null;
    return isNumber
      ? String(value)
          .replace(/(\.\d*?)0+$/, '$1')
          .replace(/\.$/, '')
      : value;
  };
  const columns = Object.entries(row).map(([name, value]) => [name, shown(name, value)]);
  return { ...Object.fromEntries(columns), extra: row.extra ?? {} };
}
