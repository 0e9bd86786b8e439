import { families } from '../../../src/callbacks/families/index.ts';
import { createLog } from '../../../src/common/log.ts';
import { createDatabaseClock } from '../../../src/receiver/store/clock.ts';
import { storedColumns } from '../../../src/receiver/store/insert-deliveries.ts';
import { inTransaction } from '../../../src/receiver/store/pools.ts';
import { createMerge } from '../../../src/receiver/worker/merge.ts';
import { apply } from '../../db/apply.ts';
import { connect } from '../../support/database.ts';
import { receiptOf } from '../../support/intake.ts';
import { useReceiverDatabase } from '../../support/receiver-database.ts';

const database = useReceiverDatabase('test');
const alter = (setting: string) =>
  inTransaction(database.pool, 'set transaction read write', (client) =>
    client.query(`alter database ${new URL(database.url).pathname.slice(1)} ${setting}`),
  );

it('a session that was read-only is closed', async () => {
  const { pool, db } = connect(database.url, 3);
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
  for (const run of writes) await expect(run()).rejects.toMatchObject({ code: '25006' });
  await openAll();
  await alter('reset default_transaction_read_only');
  const inOwn = () => inTransaction(pool, '', (client) => client.query(write));
  for (let n = 0; n < 3; n += 1) await expect(inOwn()).rejects.toMatchObject({ code: '25006' });
  await inOwn();
  for (const run of writes) await run();
  await pool.end();
});

it.each(['insert', 'merge'])(
  'the %s goes on where a pooler gives it a session without its statement',
  async (lost) => {
    const { pool, store } = connect(database.url, 1);
    const merge = createMerge({ pool, families, log: createLog('silent') });
    for (const n of [1, 2]) {
      if (lost === 'insert' && n === 2) await pool.query('deallocate all');
      expect(await store(receiptOf(n))).toEqual(['accepted']);
      if (lost === 'merge' && n === 2) await pool.query('deallocate all');
      expect(await merge('receipt')).toMatchObject({ merged: 1, written: 1, left: [] });
    }
    await pool.end();
  },
);

it('settings of the database, the role or the server change no value that is read', async () => {
  for (const setting of [
    "extra_float_digits = '-15'",
    "datestyle = 'German, DMY'",
    "intervalstyle = 'iso_8601'",
    "timezone = 'America/St_Johns'",
    "standard_conforming_strings = 'off'",
    "bytea_output = 'escape'",
  ])
    await alter(`set ${setting}`);
  const { db, pool } = connect(database.url, 3);
  const created_at = 1_763_000_000_123;
  const event_time = 1_763_000_001;
  const data = { receipt_id: 7, created_at, net_amount: '450.55' };
  await apply({ db, pool }, [{ event: 'receipt.created', event_time, business_id: 'b', data }]);
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
  const clock = createDatabaseClock(pool, {});
  await clock.refresh();
  expect(Math.abs(clock.now()! - Date.now())).toBeLessThan(60_000);
  await pool.end();
});
