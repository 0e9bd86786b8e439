import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

const { DATABASE_URL, RECEIVER_URL, CHANGES_TOKEN } = process.env;
const headers = { Authorization: `Bearer ${CHANGES_TOKEN}` };
const db = new pg.Client(DATABASE_URL);
await db.connect();
await db.query(`create table if not exists paid (business_id text, id text, amount numeric, primary key (business_id, id));
                create table if not exists paid_cursor (cursor text)`);
for (;;) {
  const saved = (await db.query('select cursor from paid_cursor')).rows[0];
  const after = saved ? `&after=${saved.cursor}` : '';
  const response = await fetch(`${RECEIVER_URL}/changes?families=receipt${after}`, { headers });
  if (response.status === 410) await db.query('delete from paid; delete from paid_cursor'); // begin anew
  if ([400, 401].includes(response.status)) throw new Error(await response.text());
  const { changes, next, more } = response.ok ? await response.json() : { changes: [] };
  await db.query('begin');
  for (const { business_id, id, record } of changes) {
    await db.query('delete from paid where business_id = $1 and id = $2', [business_id, id]);
    if (record && !record.deleted_at)
      await db.query('insert into paid values ($1, $2, $3)', [business_id, id, record.amount_paid]);
  }
  if (next)
    await db.query('with old as (delete from paid_cursor) insert into paid_cursor values ($1)', [next]);
  await db.query('commit');
  if (!more) await sleep(2_000);
}
