import pg from 'pg';
import { readProblems } from '../../src/health/read-problems.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import { deliveryOf, paths, receiptCallback } from '../support/callbacks.ts';
import { clear } from '../support/deliveries.ts';
import { type OwnServer, startOwnServer } from '../support/own-server.ts';
import { post, startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

type Service = Awaited<ReturnType<typeof startTestService>>;

let server: OwnServer;
let service: Service;
const others: pg.Client[] = [];
beforeAll(async () => {
  server = await startOwnServer(['max_prepared_transactions=4', 'fsync=off']);
});
beforeEach(async () => {
  await clear(server as never, 'blocked_deliveries', 'spilled_deliveries');
  service = await startTestService({ databaseUrl: server.url });
});
afterEach(async () => {
  for (const client of others.splice(0)) await client.end().catch(() => {});
  await service.stop();
});
afterAll(() => server.stop());

const receipt = (receipt_id: number, second = 0) =>
  receiptCallback({ event: 'receipt.updated', event_time: 1_700_000_000 + second, data: { receipt_id } });
const send = async (...callbacks: object[]) => {
  for (const callback of callbacks) {
    expect((await post(`${service.url}${paths.receipt}`, callback)).status).toBe(200);
  }
};
const pending = async () => {
  const [row] = await server.rows('select count(*)::int as n from pending_deliveries');
  return row!.n as number;
};
const setAside = () =>
  server.rows('select cause, detail, count(*)::int as n from blocked_deliveries group by 1, 2');
const problems = async () =>
  (await readProblems(server.database.pool)).filter(({ kind }) =>
    ['set aside', 'locked', 'backlog', 'stalled'].includes(kind),
  );
const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, index) => from + index);

/** Another session. */
async function connect(application_name: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: server.url, application_name });
  client.on('error', () => {});
  await client.connect();
  others.push(client);
  return client;
}

/** What a text tells to run, with that after it. */
const advised = (detail: string, statement: RegExp) => statement.exec(detail)![0];

it.each([
  {
    name: 'a forgotten prepared transaction',
    lock: async () => {
      const client = await connect('batch');
      await client.query('begin; select from receipts where receipt_id < 5 for update');
      await client.query(`prepare transaction 'it''s forgotten'`);
    },
    holder: /^5: prepared transaction 'it''s forgotten'\. To end it: /,
    advice: /rollback prepared 'it''s forgotten'/,
  },
  {
    name: 'a session that is idle',
    lock: async () => {
      const client = await connect('somebody');
      await client.query('begin; select from receipts where receipt_id < 5 for update');
    },
    holder: /^5: session \d+ \(application somebody, role receiver, since .*To end it: /,
    advice: /select pg_terminate_backend\(\d+\)/,
  },
])(
  'rows that $name locks delay their updates alone, are named as long as it lasts, and are applied after the advice',
  async ({ lock, holder, advice }) => {
    await send(...numbers(5).map((id) => receipt(id)));
    await until(async () => (await pending()) === 0);
    await lock();
    await send(...numbers(5).map((id) => receipt(id, 1)));
    // Others, of the same family, before and after these were set aside.
    for (let at = 5; at < 200; at += 15) {
      await send(...numbers(15, at).map((id) => receipt(id)));
      await until(async () => (await pending()) <= 5, 10_000);
    }
    const found = await until(async () => {
      const [first, ...rest] = await problems();
      return first && rest.length === 0 && holder.test(first.detail) ? first : undefined;
    }, 40_000);
    expect(found).toMatchObject({ kind: 'set aside', status: 'fail', since: expect.any(Date) });
    // A job of others waits for none of them.
    await send(receipt(300));
    await until(async () => (await pending()) === 5, 10_000);
    expect((await problems()).map(({ detail }) => detail)).toEqual([found.detail]);
    await server.rows(advised(found.detail, advice));
    await until(async () => (await pending()) === 0, 60_000);
    await until(async () => (await setAside()).length === 0);
    expect(await problems()).toEqual([]);
    const updated = await server.rows(
      'select count(*)::int as n from receipts where receipt_id < 5 and event_time = to_timestamp(1700000001)',
    );
    expect(updated).toEqual([{ n: 5 }]);
  },
);

it('sessions that wait in a queue for a row are not named, only the one that holds it', async () => {
  await send(receipt(1));
  await until(async () => (await pending()) === 0);
  const holder = await connect('holder');
  await holder.query('begin; select from receipts where receipt_id = 1 for update');
  const { rows } = await holder.query('select pg_backend_pid() as pid');
  for (const name of ['first in the queue', 'second in the queue']) {
    const waiting = await connect(name);
    waiting.query(`update receipts set actor = 'x' where receipt_id = 1`).catch(() => {});
  }
  await send(receipt(1, 1));
  await until(async () => (await setAside()).some(({ detail }) => detail), 20_000);
  const all = await setAside();
  expect(all.map(({ detail }) => detail)).toEqual([
    expect.stringContaining(`session ${rows[0].pid} (application holder`),
  ]);
});

const raising = (table: string, when: string) => `
  create or replace function refuse_row() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
  create trigger dba before insert on ${table} for each row when (${when}) execute function refuse_row()`;

it('where a trigger raises for a third of the rows, the others of a backlog of 1,200 do not wait with these', async () => {
  await service.stop();
  await server.rows(raising('receipts', 'new.receipt_id % 3 = 0'));
  try {
    const deliveries = numbers(1_200).map((id) => deliveryOf(receipt(id)));
    for (let at = 0; at < 1_200; at += 400)
      await insertDeliveries(server.database.pool, deliveries.slice(at, at + 400));
    service = await startTestService({ databaseUrl: server.url });
    await until(async () => {
      const [row] = await server.rows('select count(*)::int as n from receipts');
      return row!.n === 800;
    }, 60_000);
    await until(async () => (await pending()) === 0);
    expect(
      await server.rows(`select status, count(*)::int as n from deliveries group by 1 order by 1`),
    ).toEqual([
      { status: 'applied', n: 800 },
      { status: 'failed', n: 400 },
    ]);
  } finally {
    await server.rows('drop trigger dba on receipts');
  }
});

it('where failed_deliveries cannot be written, the good ones are applied, and the bad ones fail once it can', async () => {
  await server.rows(
    `${raising('failed_deliveries', 'true')}; alter table receipts add constraint odd check (receipt_id % 10 <> 0)`,
  );
  try {
    await send(...numbers(50).map((id) => receipt(id)));
    await until(async () => (await pending()) === 5, 10_000);
    await send(...numbers(9, 51).map((id) => receipt(id)));
    await until(async () => (await pending()) === 5, 10_000);
    const problem = await until(async () => {
      const all = await problems();
      return all.length === 1 && all[0]!.detail.startsWith('5: ') && all[0];
    }, 40_000);
    expect(problem).toMatchObject({
      kind: 'set aside',
      title: 'Deliveries of the family receipt wait for a state that cannot be written',
      detail: expect.stringMatching(/SQLSTATE P0001\. Remove the cause/),
    });
    await server.rows('drop trigger dba on failed_deliveries');
    await until(async () => (await pending()) === 0, 60_000);
    expect(await server.rows('select count(*)::int as n from failed_deliveries')).toEqual([{ n: 5 }]);
    await until(async () => (await setAside()).length === 0);
  } finally {
    await server.rows(
      'alter table receipts drop constraint odd; drop trigger if exists dba on failed_deliveries',
    );
  }
});
