import { createLog } from '../../src/common/log.ts';
import { families } from '../../src/families/index.ts';
import { readProblems } from '../../src/health/read-problems.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import { block } from '../../src/store/blocked-deliveries.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { runText, withPlanForAnySize } from '../../src/store/transactions.ts';
import { createSetAside, type SetAside } from '../../src/worker/set-aside.ts';
import { deliveryOf, paths, receiptCallback } from '../support/callbacks.ts';
import { type OwnServer, startOwnServer } from '../support/own-server.ts';
import { post, startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

let server: OwnServer;
beforeAll(async () => {
  server = await startOwnServer();
});
afterAll(() => server.stop());
beforeEach(async () => {
  for (const tables of ['inbox', 'receipts, receipt_versions, blocked_deliveries, spilled_deliveries'])
    await server.rows(`truncate ${tables}`);
});

const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, index) => from + index);
const receipt = (receipt_id: number, second = 0) =>
  receiptCallback({ event: 'receipt.updated', event_time: 1_700_000_000 + second, data: { receipt_id } });

/** By the index: a scan of the whole table would read the damaged page. */
const isApplied = async (ids: readonly string[]) => {
  const rows = await withPlanForAnySize(server.database.db, (tx) =>
    runText(tx, 'select from applied_deliveries where id = any($1::uuid[])', [ids]),
  );
  return rows.length === ids.length;
};

/** Runs statements as a person does: one after another, in one session. */
async function run(statements: string): Promise<void> {
  const client = await server.database.pool.connect();
  try {
    for (const statement of statements.split('; ')) await client.query(statement);
  } finally {
    client.release(true);
  }
}

/** What is pending: updates of known receipts, and new receipts; a query for the page, given one of each. */
type Case = {
  name: string;
  relation: string;
  page: string;
  /** The ids on the page, of which those are that wait. */
  ids: string;
  /** Whether new callbacks wait, too. */
  newWait?: boolean;
};

const blockOf = (table: string, condition: string) =>
  `select ((ctid::text::point)[0])::int as block from ${table} where ${condition}`;
const onPage = (table: string, id = 'id') =>
  `select ${id} as id from ${table} where (ctid::text::point)[0] = $1`;
const lastPage = (table: string) =>
  `select (pg_relation_size('${table}') / 8192 - 1)::int as block, $1::uuid as unused`;

it.each<Case>([
  {
    name: 'pending_deliveries, amid others',
    relation: 'pending_deliveries',
    page: blockOf('pending_deliveries', 'id = $1'),
    ids: onPage('pending_deliveries'),
  },
  {
    name: 'pending_deliveries, the last',
    relation: 'pending_deliveries',
    page: lastPage('pending_deliveries'),
    ids: onPage('pending_deliveries'),
  },
  { name: 'inbox, amid others', relation: 'inbox', page: blockOf('inbox', 'id = $1'), ids: onPage('inbox') },
  {
    name: 'inbox, the last',
    relation: 'inbox',
    page: lastPage('inbox'),
    ids: onPage('inbox'),
    newWait: true,
  },
  {
    name: 'applied_deliveries',
    relation: 'applied_deliveries',
    page: 'select 0 as block, $1::uuid as unused',
    ids: 'select id from inbox where $1 < 0',
  },
  {
    name: 'resends',
    relation: 'resends',
    page: 'select 0 as block, $1::uuid as unused',
    ids: 'select id from inbox where $1 < 0',
  },
  {
    name: 'receipts',
    relation: 'receipts',
    page: 'select 0 as block, $1::uuid as unused',
    // To add an entry to a full page of an index, PostgreSQL reads the rows of its other entries: the first 17 are on the page.
    ids: `select id from inbox where (envelope->'data'->>'receipt_id')::int < 160 and $1 >= 0`,
  },
  {
    name: 'inbox_pkey',
    relation: 'inbox_pkey',
    page: 'select 1 as block, $1::uuid as unused',
    ids: 'select id from inbox where $1 > 0',
  },
  {
    name: 'receipts_pkey',
    relation: 'receipts_pkey',
    page: 'select 1 as block, $1::uuid as unused',
    ids: 'select id from inbox where $1 > 0',
  },
])(
  'a damaged page of $name: the rest is applied, new callbacks are acknowledged, the page is named, and the advice helps',
  async ({ relation, page, ids, newWait }) => {
    const known = numbers(300).map((id) => deliveryOf(receipt(id)));
    const first = await startTestService({ databaseUrl: server.url });
    await insertDeliveries(server.database.pool, known);
    await until(() => isApplied(known.map(({ id }) => id)));
    await post(`${first.url}${paths.receipt}`, receipt(0)); // a row of resends
    await first.stop();
    const waiting = [
      ...numbers(300).map((id) => deliveryOf(receipt(id, 1))),
      ...numbers(300, 300).map((id) => deliveryOf(receipt(id))),
    ];
    for (let at = 0; at < waiting.length; at += 200)
      await insertDeliveries(server.database.pool, waiting.slice(at, at + 200));

    const [found] = await server.rows(page, [waiting[250]!.id]);
    const block = found!.block as number;
    const concerned = new Set((await server.rows(ids, [block])).map(({ id }) => id));
    const healthy = waiting.map(({ id }) => id).filter((id) => !concerned.has(id));
    const restore = await server.damage(relation, block);
    const service = await startTestService({ databaseUrl: server.url });
    try {
      await until(() => isApplied(healthy));
      const fresh = numbers(20, 1_000).map((id) => receipt(id, 2));
      for (const one of [...fresh, receipt(0), receipt(150, 1)])
        expect((await post(`${service.url}${paths.receipt}`, one)).status).toBe(200);
      const freshIds = fresh.map((one) => deliveryOf(one).id);
      if (!newWait && !/_pkey/.test(relation)) await until(() => isApplied(freshIds));

      const everything = [...waiting.map(({ id }) => id), ...freshIds];
      if (await isApplied(everything)) return; // nothing of it was on the page
      const named = new RegExp(`Page ${block} of (table|index) ${relation} is damaged`);
      const problem = await until(async () => {
        const all = await readProblems(server.database.pool);
        return all.find(({ title, detail }) => named.test(`${title} ${detail}`));
      }, 180_000);
      expect(problem.status).toBe('fail');
      if (relation === 'inbox') {
        await service.stop();
        await restore();
      } else {
        await run(/set zero_damaged_pages[^.]*|reindex index \w+/.exec(problem.detail)![0]);
      }
      const after = relation === 'inbox' ? await startTestService({ databaseUrl: server.url }) : service;
      try {
        await until(() => isApplied(everything));
        await until(async () => {
          const [row] = await server.rows(
            'select (select count(*) from blocked_deliveries) + (select count(*) from spilled_deliveries) as n',
          );
          return row!.n === '0';
        });
        const newest = await server.rows(
          'select count(*)::int as n from receipts where receipt_id < 300 and event_time = to_timestamp(1700000001)',
        );
        expect(newest).toEqual([{ n: 300 }]);
      } finally {
        await after.stop();
      }
    } finally {
      await service.stop();
    }
  },
);

it('new rows for which there is space on a damaged page go to other pages', async () => {
  const lean = (receipt_id: number) => {
    const callback = receiptCallback({ data: { receipt_id } });
    return { ...callback, data: { receipt_id } };
  };
  const service = await startTestService({ databaseUrl: server.url });
  const known = numbers(60).map((id) => deliveryOf(receipt(id)));
  await insertDeliveries(server.database.pool, known);
  await until(() => isApplied(known.map(({ id }) => id)));
  await service.stop();
  await server.rows('delete from receipts where receipt_id < 2');
  await server.rows('vacuum receipts');
  await server.damage('receipts', 0);
  const again = await startTestService({ databaseUrl: server.url });
  try {
    const callbacks = numbers(40, 1_000).map(lean);
    for (const one of callbacks) expect((await post(`${again.url}${paths.receipt}`, one)).status).toBe(200);
    await until(() => isApplied(callbacks.map((one) => deliveryOf(one as never).id)));
  } finally {
    await again.stop();
  }
});

it('where the only page of pending_deliveries is damaged, new deliveries are acknowledged and applied', async () => {
  const waiting = numbers(20).map((id) => deliveryOf(receipt(id)));
  await insertDeliveries(server.database.pool, waiting);
  await server.damage('pending_deliveries', 0);
  const service = await startTestService({ databaseUrl: server.url });
  try {
    const fresh = numbers(60, 1_000).map((id) => receipt(id));
    for (const one of fresh) expect((await post(`${service.url}${paths.receipt}`, one)).status).toBe(200);
    await until(() => isApplied(fresh.map((one) => deliveryOf(one).id)));
  } finally {
    await service.stop();
    await run('set zero_damaged_pages = on; vacuum full pending_deliveries; reset zero_damaged_pages');
  }
});

it('the page is avoided although no probe of the store ends in time', async () => {
  await insertDeliveries(
    server.database.pool,
    numbers(20).map((id) => deliveryOf(receipt(id))),
  );
  await server.damage('pending_deliveries', 0);
  const service = await startTestService({ databaseUrl: server.url });
  const holder = await server.database.pool.connect();
  try {
    // A probe inserts a delivery of each family.
    await server.rows(`create function wait() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock(1); return new; end $$; create trigger wait before insert on inbox
      for each row when (new.family <> 'receipt') execute function wait()`);
    await holder.query('select pg_advisory_lock(1)');
    const fresh = numbers(10, 1_000).map((id) => receipt(id));
    for (const one of fresh) expect((await post(`${service.url}${paths.receipt}`, one)).status).toBe(200);
    await until(() => isApplied(fresh.map((one) => deliveryOf(one).id)));
  } finally {
    holder.release(true);
    await service.stop();
    await run(
      'drop function if exists wait cascade; set zero_damaged_pages = on; vacuum full pending_deliveries',
    );
  }
});

describe('with the only page of pending_deliveries damaged', () => {
  const onPage = numbers(3).map((id) => deliveryOf(receipt(id)));
  const others = numbers(300, 1_000).map((id) => deliveryOf(receipt(id)));
  const blocked = onPage.map(({ id, family }) => ({ id, family, cause: 'damaged' as const, detail: null }));
  let one: Database;
  let groups: number;
  let setAside: SetAside;
  beforeEach(async () => {
    await insertDeliveries(server.database.pool, onPage);
    await server.damage('pending_deliveries', 0);
    const { pool, db } = server.database;
    await insertDeliveries(pool, others, { damage: 'a page' });
    await block(db, blocked);
    groups = 0;
    one = openDatabase(server.url, createLog('silent'), { connections: 1, name: 'test' });
    setAside = createSetAside({
      database: one,
      families,
      observe: { applied: () => (groups += 1) },
      log: createLog('silent'),
    });
  });
  afterEach(async () => {
    await one.close();
    await run('set zero_damaged_pages = on; vacuum full pending_deliveries; reset zero_damaged_pages');
  });

  /** Has time for some attempts. */
  const pass = async (maxAttempts: number) => {
    let attempts = 0;
    const signal = {
      get aborted() {
        attempts += 1;
        return attempts > maxAttempts;
      },
    } as AbortSignal;
    await setAside.retry((work) => work(), signal);
  };
  const areOthersApplied = () => isApplied(others.map(({ id }) => id));

  it('what could not be stored there is applied at once, before what a job has found on the page', async () => {
    await pass(1);
    expect([groups, await areOthersApplied()]).toEqual([1, true]);
  });

  it('the few on the page are found by groups among many that were tried, in passes that are too short for it, with one connection', async () => {
    // These first.
    await server.rows(`update blocked_deliveries set tried_at = now(),
      next_at = now() - case when tried_at is null then interval '1 s' else interval '2 s' end`);
    for (let passes = 1; !(await areOthersApplied()); passes += 1) {
      await pass(3);
      expect(passes).toBeLessThan(2 * Math.log2(512));
    }
    expect(await server.rows('select from blocked_deliveries')).toHaveLength(3);
  });

  it('what is set aside, or on the page, is a duplicate when it is sent again', async () => {
    const again = [...onPage, ...others.slice(0, 3)];
    const results = await insertDeliveries(server.database.pool, again, { damage: 'a page' });
    expect(new Set(results)).toEqual(new Set(['duplicate']));
  });
});
