import fc from 'fast-check';
import pg from 'pg';
import { numberChanges, openFeed } from '../../src/changes/open-feed.ts';
import type { PageDependencies } from '../../src/changes/page.ts';
import { CursorUnknown, readPage } from '../../src/changes/read-page.ts';
import { createRecordReader, readColumns } from '../../src/changes/read-records.ts';
import { families } from '../../src/families/index.ts';
import { recordChanges } from '../../src/store/changed-records.ts';
import type { TestDatabase } from '../support/database.ts';

const [writers, consumers, receipts] = [4, 3, 12];

/** What happens while transactions are open. */
type Observation =
  | { do: 'number' }
  | { do: 'restart' | 'other server' | 'restore' }
  | { do: 'read' | 'fork'; consumer: number; limit: number; during: number | undefined };

/** Transactions that are open at the same time: they begin and write in one order, and end in another. */
interface Overlap {
  writes: { writer: number; receipt: number; kind: 'change' | 'delete' }[];
  ends: { writer: number; how: 'commit' | 'rollback'; observe: Observation[] }[];
}

const consumer = fc.nat(consumers - 1);
const observation: fc.Arbitrary<Observation> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ do: 'number' as const }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('restart' as const, 'other server' as const, 'restore' as const),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom('read' as const, 'read' as const, 'fork' as const),
      consumer,
      limit: fc.integer({ min: 1, max: 4 }),
      during: fc.option(fc.nat(writers - 1), { nil: undefined }),
    }),
  },
);
const permutation = (length: number) =>
  fc.shuffledSubarray(
    Array.from({ length }, (_, n) => n),
    { minLength: length, maxLength: length },
  );

const overlap: fc.Arbitrary<Overlap> = fc
  .record({
    begin: fc.shuffledSubarray([0, 1, 2, 3], { minLength: 2, maxLength: writers }),
    receipts: permutation(receipts),
    kinds: fc.array(fc.constantFrom('change' as const, 'change' as const, 'delete' as const), {
      minLength: writers,
      maxLength: writers,
    }),
    end: permutation(writers),
    hows: fc.array(fc.constantFrom(...Array(5).fill('commit' as const), 'rollback' as const), {
      minLength: writers,
      maxLength: writers,
    }),
    // Some stay open while those of the next overlap begin.
    ended: fc.integer({ min: 1, max: writers }),
    observed: fc.array(fc.array(observation, { minLength: 1, maxLength: 3 }), {
      minLength: writers,
      maxLength: writers,
    }),
  })
  .map(({ begin, receipts: of, kinds, end, hows, ended, observed }) => ({
    writes: begin.map((writer, n) => ({ writer, receipt: of[n]!, kind: kinds[n]! })),
    ends: end.slice(0, ended).map((writer, n) => ({ writer, how: hows[n]!, observe: observed[n]! })),
  }));

const one = (receipt: string) => `select 'receipt' as family, 'b' as business_id, ${receipt}::text as id`;
const statements = {
  change: `
  with made as (
    insert into receipts (business_id, receipt_id, client_id, last_event, event_time, extra, delivery_id, received_at, applied_at)
    values ('b', $1::bigint, '', 'receipt.created', now(), '{}', gen_random_uuid(), now(), now())
    on conflict (business_id, receipt_id) do update set delivery_id = excluded.delivery_id
  ) ${recordChanges('changed', one('$1::bigint'))}`,
  delete: `
  with gone as (delete from receipts where business_id = 'b' and receipt_id = $1::bigint returning 1)
  ${recordChanges('deleted', `${one('$1::bigint')} where exists (select from gone)`)}`,
};

/** What a consumer has that keeps the greatest version of each record. */
interface Consumer {
  after: string | undefined;
  rows: Map<string, { version: number; delivery: unknown }>;
}

/**
 * Opens the feed, with a reader in a long transaction that has a number of its own.
 *
 * @returns the property that whoever reads, from whenever on, ends with exactly the rows
 */
export async function openOverlapping(database: TestDatabase) {
  await openFeed(database.db);
  const records = createRecordReader(await readColumns(database.db, families));
  const connect = async () => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    return client;
  };
  const analyst = await connect();
  await analyst.query('begin isolation level repeatable read; select pg_current_xact_id()');
  const clients = await Promise.all(Array.from({ length: writers }, connect));

  const run = async (overlaps: Overlap[]): Promise<void> => {
    for (const client of clients) await client.query('rollback');
    await database.rows('truncate receipts, receipt_versions, changed_records');
    await numberChanges(database.db, true);
    const open = new Map<number, Set<number>>();
    const seen: Consumer[] = Array.from({ length: consumers }, () => ({ after: undefined, rows: new Map() }));

    const end = async (writer: number, how: string) => {
      if (open.delete(writer)) await clients[writer]!.query(how);
    };
    const read = async (state: Consumer, limit: number, during?: number) => {
      // A transaction ends between the snapshot of a page and its records.
      const within = <T>(then: () => T) => (during === undefined ? then() : end(during, 'commit').then(then));
      const dependencies: PageDependencies = {
        db: database.db,
        families,
        records: {
          readByKeys: (...args) => within(() => records.readByKeys(...args)) as never,
          readAfter: (...args) => within(() => records.readAfter(...args)) as never,
        },
      };
      const query = { after: state.after, families, businessId: undefined, limit, isPublic: false };
      const found = await readPage(dependencies, query).catch((error) => {
        if (!(error instanceof CursorUnknown) || state.after === undefined) throw error;
        [state.after, state.rows] = [undefined, new Map()];
      });
      if (!found) return true;
      for (const { json } of found.changes) {
        const { id, version, record } = JSON.parse(json);
        if ((state.rows.get(id)?.version ?? 0) <= version)
          state.rows.set(id, { version, delivery: record?.delivery_id });
      }
      state.after = found.next;
      return found.more;
    };
    const look = async (what: Observation) => {
      if ('consumer' in what) {
        const state = seen[what.consumer]!;
        // It continues with what another one had.
        if (what.do === 'fork')
          seen[(what.consumer + 1) % consumers] = { after: state.after, rows: new Map(state.rows) };
        await read(state, what.limit, what.during);
        return;
      }
      if (what.do === 'other server') await database.rows('update change_feed set server_started_at = null');
      if (what.do === 'restore') await database.rows(`update change_feed set place = 'another'`);
      await numberChanges(database.db, what.do === 'restart');
    };

    for (const { writes, ends } of overlaps) {
      for (const { writer, receipt, kind } of writes) {
        // A record is one transaction's until that ends.
        if ([...open].some(([other, locked]) => other !== writer && locked.has(receipt))) continue;
        if (!open.has(writer)) {
          await clients[writer]!.query('begin');
          open.set(writer, new Set());
        }
        open.get(writer)!.add(receipt);
        await clients[writer]!.query(statements[kind], [receipt]);
      }
      for (const { writer, how, observe } of ends) {
        if (!open.has(writer)) continue;
        await end(writer, how);
        for (const what of observe) await look(what);
      }
    }
    for (const writer of [...open.keys()]) await end(writer, 'commit');

    const rows = await database.rows('select receipt_id, delivery_id from receipts');
    const expected = new Map(rows.map(({ receipt_id, delivery_id }) => [receipt_id, delivery_id]));
    for (const state of seen) {
      while (await read(state, 3));
      const kept = [...state.rows].filter(([, { delivery }]) => delivery !== undefined);
      expect(new Map(kept.map(([id, { delivery }]) => [id, delivery]))).toEqual(expected);
    }
  };

  return {
    endsWithTheRows: fc.asyncProperty(fc.array(overlap, { minLength: 5, maxLength: 8 }), run),
    close: () => Promise.all([...clients, analyst].map((client) => client.end())),
  };
}
