import { applyDeliveries } from '../../src/apply/apply.ts';
import { families } from '../../src/families/index.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import { createParser } from '../../src/intake/parse-callback.ts';
import { type Callback, samples } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { clear } from '../support/deliveries.ts';
import { type Documented, documented } from '../support/platform/documented.ts';

const database = useDatabase();

const parse = createParser(families);
const read = (callback: object) => {
  const body = Buffer.from(JSON.stringify(callback));
  const { id, family } = parse(body);
  return { id, family: family.name, body };
};

/** The row that a callback alone makes. */
async function rowOf({ table }: Documented, callback: object): Promise<unknown> {
  await clear(database);
  const delivery = read(callback);
  await insertDeliveries(database.pool, [delivery]);
  await applyDeliveries(database.db, families, [delivery.id]);
  const rows = await database.rows(
    `select to_jsonb(t) - '{delivery_id,carried,received_at,applied_at}'::text[] as row from ${table} t`,
  );
  expect(rows).toHaveLength(1);
  return rows[0]!.row;
}

const milliseconds = (time: unknown) =>
  typeof time === 'number' && time < 1e11 ? time * 1000 : new Date(time as string).getTime();
const iso = (time: unknown) => new Date(milliseconds(time)).toISOString();

const timeSpellings: [string, (time: unknown) => unknown][] = [
  ['in milliseconds', milliseconds],
  ['in ISO 8601 with Z', iso],
  [
    'in ISO 8601 with a space and an offset',
    (time) => `${iso(time).slice(0, 23).replace('T', ' ')}000+00:00`,
  ],
];

/** A sample as the platform's own sample pages spell it. */
function asSeen(
  { event, timestamp: _, ...envelope }: Callback,
  { fields, key }: Documented,
  spellTime: (time: unknown) => unknown,
) {
  const data = Object.fromEntries(
    Object.entries(envelope.data).map(([name, value]) => {
      const isAlias = name === 'prescription_id' && name === key;
      const spelled = fields[name]?.endsWith('time')
        ? spellTime(value)
        : fields[name] === 'number id'
          ? String(value)
          : value;
      return [isAlias ? 'rx_id' : name, spelled];
    }),
  );
  return { event_type: event, ...envelope, event_time: spellTime(envelope.event_time), service: 'emr', data };
}

const cases = documented.flatMap((of) =>
  timeSpellings.map(([how, spellTime]) => [of.family, how, of, spellTime] as const),
);

it.each(cases)(
  'both spellings of a %s, with times %s, give the same row',
  async (family, _, of, spellTime) => {
    const sample = samples[family as keyof typeof samples]();
    const row = await rowOf(of, sample);
    expect(await rowOf(of, asSeen(sample, of, spellTime))).toEqual(row);
    const isNull = (values: object) =>
      Object.keys(of.fields).filter((name) => (values as never)[name] === null);
    expect(isNull(row as object)).toEqual(isNull(sample.data));
  },
);

it.each(documented.map((of) => [of.family]))(
  'a %s is the same delivery with event or event_type, any timestamp, and an id that is empty, null or missing',
  (family) => {
    const {
      event,
      timestamp: _,
      client_id: __,
      business_id,
      ...rest
    } = samples[family as keyof typeof samples]();
    const events = [
      { event },
      { event_type: event },
      { event, event_type: 'other' },
      { event: null, event_type: event },
    ];
    const timestamps = [
      {},
      { timestamp: 0 },
      { timestamp: null },
      { timestamp: 5 },
      { timestamp: '2026-06-30T07:25:18Z' },
    ];
    const clients = [{}, { client_id: '' }, { client_id: null }];
    const ids = events.flatMap((one) =>
      timestamps.flatMap((time) =>
        // A list needs another way to the same id.
        clients.flatMap((client) => [
          read({ ...one, ...time, ...client, business_id, ...rest }).id,
          read({ ...rest, business_id, ...client, ...time, ...one, service: ['x'] }).id,
        ]),
      ),
    );
    expect(new Set(ids).size).toBe(1);
    const other = read({ event, client_id: 'c', business_id, ...rest }).id;
    expect(ids).not.toContain(other);
  },
);
