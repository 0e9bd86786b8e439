import { canonicalJson } from '../../src/receiver/intake/canonical-json.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { documented } from '../support/platform/documented.ts';
import { type Meaning, meaningOf, type Random, seeded } from '../support/platform/meanings.ts';
import { expectedTables } from '../support/platform/model.ts';
import { spell, spellAgain } from '../support/platform/spellings.ts';
import { openRedis } from '../support/redis.ts';
import { startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const perEvent = 24;
const seed = Number(process.env.TEST_SEED);

interface Callback {
  meaning: Meaning;
  body: Record<string, unknown>;
}

interface Response {
  callback: Callback;
  status: number;
  id: string;
  state: string;
}

type Row = Record<string, unknown>;

/** Of each event this many, half of them in each spelling; one in twenty is sent twice. In random order. */
function callbacksOf(random: Random): Callback[] {
  const callbacks = documented.flatMap((of) =>
    Object.keys(of.events).flatMap((event) =>
      Array.from({ length: perEvent / 2 }, () => meaningOf(of, event, random)).flatMap((meaning) =>
        (['documented', 'seen'] as const).map((spelling) => ({
          meaning,
          body: spell(meaning, spelling, random),
        })),
      ),
    ),
  );
  const again = callbacks
    .filter(() => random.chance(5))
    .map(({ meaning, body }) => ({ meaning, body: spellAgain(body, meaning, random) }));
  return shuffled([...callbacks, ...again], random);
}

function shuffled<T>(items: T[], { below }: Random): T[] {
  for (let last = items.length - 1; last > 0; last -= 1) {
    const other = below(last + 1);
    [items[last], items[other]] = [items[other]!, items[last]!];
  }
  return items;
}

async function sendAll(
  url: string,
  callbacks: Callback[],
  pathOf: (meaning: Meaning) => string,
): Promise<Response[]> {
  const responses: Response[] = [];
  const queue = callbacks.values();
  const work = async () => {
    for (const callback of queue) {
      const response = await fetch(url + pathOf(callback.meaning), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(callback.body),
      });
      const { id, status: state } = (await response.json()) as { id: string; status: string };
      responses.push({ callback, status: response.status, id, state });
    }
  };
  await Promise.all(Array.from({ length: 24 }, work));
  return responses;
}

/** What identifies a delivery: not its spelling of `event`, nor of an id that is not there, nor when it was sent. */
function identityOf({ meaning, body }: Callback): string {
  const { event, client, business, transaction, of } = meaning;
  const named = of.key === 'transaction_id' ? transaction : '';
  return canonicalJson([event, body.event_time, client, business, named, body.data]);
}

/** A table with its times in milliseconds, each row as text. */
async function readTable(database: TestDatabase, query: string): Promise<string[]> {
  const { fields } = await database.pool.query(`select * from (${query}) t limit 0`);
  const times = fields
    .filter(({ dataTypeID, name }) => dataTypeID === 1184 && !own.has(name))
    .map(({ name }) => name);
  const rows = await database.rows(`select to_jsonb(t) as row from (${query}) t`);
  return rows.map(({ row }) => {
    for (const name of times) {
      const value = (row as Row)[name];
      if (value !== null) (row as Row)[name] = Date.parse(value as string);
    }
    return canonicalJson(row);
  });
}

/** Times of the receiver, compared as PostgreSQL writes them. */
const own = new Set(['received_at', 'applied_at']);

/** What differs in a few of the rows that only one of two tables has: thousands would be no help. */
function differences(found: string[], expected: string[]) {
  const [those, these] = [new Set(found), new Set(expected)];
  const rowsOnlyIn = (rows: string[], others: Set<string>) =>
    rows.filter((row) => !others.has(row)).map((row) => JSON.parse(row) as Row);
  const missing = rowsOnlyIn(expected, those);
  const unexpected = rowsOnlyIn(found, these);
  const differing = missing.map((row) => {
    const other = unexpected.find(({ delivery_id, id }) => delivery_id === row.delivery_id && id === row.id);
    const names = Object.keys(row).filter((name) => !isEqual(row[name], other?.[name]));
    return Object.fromEntries(names.map((name) => [name, { expected: row[name], found: other?.[name] }]));
  });
  return { rows: found.length, unexpected: unexpected.length, differing: differing.slice(0, 3) };
}

const isEqual = (one: unknown, other: unknown) => canonicalJson([one]) === canonicalJson([other ?? null]);

const ways: [backend: string, at: string, pathOf: (meaning: Meaning) => string][] = [
  ['redis', 'the registered paths', ({ of, event }) => of.events[event]!],
  ['postgresql', 'EVENTS_PATH', () => '/events'],
];

it.each(ways)(
  `with the queue on %s, ${perEvent} callbacks of each event at %s, in both spellings, many lean or oddly timed, shuffled, some twice: none is refused, and every row is right`,
  async (backend, _, pathOf) => {
    const callbacks = callbacksOf(seeded(seed));
    const redis = backend === 'redis' ? await openRedis() : undefined;
    const database = await createDatabase();
    const service = await startTestService({ databaseUrl: database.url, redisUrl: redis?.url });
    try {
      const responses = await sendAll(service.url, callbacks, pathOf);
      expect(responses.filter(({ status }) => status !== 200).slice(0, 3)).toEqual([]);
      const accepted = responses.filter(({ state }) => state === 'accepted');
      const ids = new Map(responses.map((one) => [identityOf(one.callback), one.id]));
      const countOf = new Map<string, number>();
      for (const { id, callback } of responses) {
        expect(ids.get(identityOf(callback))).toBe(id);
        countOf.set(id, (countOf.get(id) ?? 0) + 1);
      }
      expect([accepted.length, countOf.size]).toEqual([ids.size, ids.size]);

      const count = (table: string) => database.rows(`select count(*)::int as n from ${table}`);
      await until(async () => (await count('pending_deliveries'))[0]!.n === 0);
      expect([await count('quarantine'), await count('failed_deliveries')]).toEqual([[{ n: 0 }], [{ n: 0 }]]);

      const times = await database.rows(`
          select id, to_jsonb(received_at) as received_at, to_jsonb(applied_at) as applied_at from deliveries`);
      const timesOf = new Map(times.map(({ id, ...both }) => [id, both]));
      const tables = expectedTables(
        documented,
        accepted.map(({ id, callback }) => ({
          id,
          meaning: callback.meaning,
          data: callback.body.data as Row,
          ...(timesOf.get(id) as { received_at: unknown; applied_at: unknown }),
        })),
      );
      const stored = accepted.map(({ id, callback: { meaning, body } }) => ({
        id,
        event: meaning.event,
        family: meaning.of.family,
        client_id: meaning.client,
        business_id: meaning.business,
        event_time: meaning.eventTime,
        envelope: body,
        status: 'applied',
        error: null,
        delivery_count: countOf.get(id),
      }));
      const columns = Object.keys(stored[0]!).join(', ');
      const all: [string, Row[]][] = [
        [`(select ${columns} from deliveries)`, stored],
        ...Object.entries(tables),
      ];
      for (const [table, rows] of all) {
        const found = await readTable(database, `select * from ${table} s`);
        expect({ seed, table, ...differences(found, rows.map(canonicalJson)) }).toEqual({
          seed,
          table,
          rows: rows.length,
          unexpected: 0,
          differing: [],
        });
      }
      expect(Object.values(tables).flat().length).toBeGreaterThan(perEvent);
    } finally {
      await service.stop();
      await database.close();
      await redis?.stop();
    }
  },
);
