import { Kysely, PostgresDialect } from 'kysely';
import { families } from '../../../src/callbacks/families/index.ts';
import { createLog } from '../../../src/common/log.ts';
import { createDatabaseClock } from '../../../src/receiver/store/clock.ts';
import { insertDeliveries, storedColumns } from '../../../src/receiver/store/insert-deliveries.ts';
import { inTransaction, openPool } from '../../../src/receiver/store/pools.ts';
import type { Tables } from '../../../src/receiver/store/tables.ts';
import { createMerge } from '../../../src/receiver/worker/merge.ts';
import { apply } from '../../db/apply.ts';
import { deliveryOf } from '../../support/intake.ts';
import { useReceiverDatabase } from '../../support/receiver-database.ts';

const database = useReceiverDatabase('test');
const openSessions = (connections = 3) =>
  openPool(database.url, createLog('silent'), { name: 'test', connections, connectTimeoutMs: 60_000 });
const alter = (setting: string) =>
  inTransaction(database.pool, 'set transaction read write', (client) =>
    client.query(`alter database ${new URL(database.url).pathname.slice(1)} ${setting}`),
  );

it('a session that was read-only is closed, and a transaction takes another one', async () => {
  const pool = openSessions();
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  const write = `insert into receiver.heartbeats select now() on conflict do nothing`;
  const writes = [
    () => pool.query(write),
    () => db.updateTable('receiver.settings').set({ value: '' }).where('name', '=', 'x').execute(),
    () => db.transaction().execute((tx) => tx.deleteFrom('receiver.sessions').execute()),
  ];
  const openAll = async () => {
    const clients = await Promise.all([1, 2, 3].map(() => pool.connect()));
    for (const client of clients) client.release();
  };
  await alter('set default_transaction_read_only = on');
  await openAll();
  for (const one of writes) await expect(one()).rejects.toMatchObject({ code: '25006' });
  await openAll();
  await alter('reset default_transaction_read_only');
  await inTransaction(pool, '', (client) => client.query(write));
  for (const one of writes) await one();
  await pool.end();
});

it.each(['insert', 'merge'])(
  'the %s goes on where a pooler gives it a session without its statement',
  async (lost) => {
    const pool = openSessions(1);
    const merge = createMerge({ pool, families, log: createLog('silent') });
    for (const n of [1, 2]) {
      const callback = { event: 'receipt.created', event_time: 1_763_000_000, data: { receipt_id: n } };
      if (lost === 'insert' && n === 2) await pool.query('deallocate all');
      expect(await insertDeliveries(pool, [deliveryOf(callback)], 60_000)).toEqual(['accepted']);
      if (lost === 'merge' && n === 2) await pool.query('deallocate all');
      expect(await merge('receipt')).toMatchObject({ merged: 1, written: 1, isFull: false });
    }
    await pool.end();
  },
);

it('settings of the database, the role or the server change no value that is read', async () => {
  for (const [name, value] of Object.entries({
    ...{ extra_float_digits: '-15', datestyle: 'German, DMY', intervalstyle: 'iso_8601' },
    ...{ timezone: 'America/St_Johns', standard_conforming_strings: 'off', bytea_output: 'escape' },
  }))
    await alter(`set ${name} = '${value}'`);
  const pool = openSessions();
  const created_at = 1_763_000_000_123;
  const event_time = 1_763_000_001;
  const data = { receipt_id: 7, created_at, net_amount: '450.55' };
  await apply({ pool }, [{ event: 'receipt.created', event_time, business_id: 'b', data }]);
  const { rows } = await pool.query(
    `select created_at, net_amount, interval '90 minutes' as span, '2026-03-02'::date::text as day, '\\d' as text from receipts`,
  );
  expect(rows).toMatchObject([
    {
      created_at: new Date(created_at),
      net_amount: '450.55',
      span: { hours: 1, minutes: 30 },
      day: '2026-03-02',
      text: '\\d',
    },
  ]);
  const stored = await pool.query(`select ${storedColumns} from receiver.inbox`);
  expect(stored.rows).toMatchObject([{ eventMs: event_time * 1000, receivedAt: expect.any(Number) }]);
  const clock = createDatabaseClock(pool, { isOpen: false });
  await clock.current();
  expect(Math.abs(clock.aheadMs()!)).toBeLessThan(60_000);
  await pool.end();
});
