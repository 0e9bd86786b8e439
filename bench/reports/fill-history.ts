import { statfsSync } from 'node:fs';
import type pg from 'pg';
import { type Sums, updateSums } from '../../src/store/reporting/daily-sums.ts';
import type { Db } from '../../src/store/tables.ts';

/** Receipts of some years, written straight into the tables. */
export interface History {
  receipts: number;
  days: number;
  /** The first has 15 % of the receipts; with more than a thousand, all have as many. */
  businesses: number;
  /** How many of the latest receipts have the body of their delivery. */
  bodies: number;
}

const bytesPerReceipt = 1_300;
const bytesPerBody = 2_500;
const perStatement = 200_000;

/** @throws Error where the disk is too small */
export function checkSpace(folder: string, { receipts, bodies }: History): void {
  const { bavail, bsize } = statfsSync(folder);
  const needed = receipts * bytesPerReceipt + Math.min(bodies, receipts) * bytesPerBody;
  if (bavail * bsize < needed * 1.2) {
    const gigabytes = (bytes: number) => Math.ceil(bytes / 1e9);
    throw new Error(
      `${folder} has ${gigabytes(bavail * bsize)} GB left, and ${gigabytes(needed * 1.2)} GB are needed`,
    );
  }
}

/** The same number is the same receipt of the same business, clinic, doctor and patient. One patient has a receipt in 200. */
const functions = ({ receipts, days, businesses }: History) => `
create schema if not exists bench;
create or replace function bench.chance(n bigint, salt bigint) returns bigint
  language sql immutable parallel safe return hashint8extended(n, salt) & 2147483647;
create or replace function bench.business_of(n bigint) returns text
  language sql immutable parallel safe
  return '2' || lpad((case
    when ${businesses} > 1000 then n % ${businesses}
    when bench.chance(n, 7) % 20 < 3 then 0 else 1 + bench.chance(n, 1) % ${Math.max(1, businesses - 1)}
  end)::text, 14, '0');
create or replace function bench.at(n bigint) returns timestamptz
  language sql stable parallel safe
  return date_trunc('day', now()) - interval '${days} days' + n * interval '${(days * 86_400) / receipts} seconds';
create or replace function bench.id_of(n bigint, kind text) returns uuid
  language sql stable parallel safe
  return (lpad(to_hex((extract(epoch from bench.at(n)) * 1000)::bigint), 12, '0') || '8' || kind || '8' ||
          lpad(to_hex(n), 15, '0'))::uuid;
create or replace function bench.patient_of(n bigint) returns text
  language sql immutable parallel safe
  return case when n % 200 = 7 then 'frequent' else (bench.chance(n, 2) % 2000000)::text end;
`;

/** What is inserted for the numbers $1 to $2. */
const inserts = ({ receipts, bodies }: History): Record<string, string> => ({
  receipts: `
    insert into receipts (
      business_id, receipt_id, aid, doctor_oid, clinic_id, patient_oid, created_at, updated_at, receipt_status, receipt_amount,
      additional_discount_amount, net_amount, name, mobile, sku_discount_amount, amount_due, payment_id, amount_paid, actor,
      receipt_url, client_id, last_event, event_time, deleted_at, extra, delivery_id, received_at, applied_at)
    select b, n, 'aid-' || n, b || 'd' || bench.chance(n, 3) % 8, b || 'c' || bench.chance(n, 3) % 8 % 3, bench.patient_of(n), at,
      at, 'SUCCESS', amount, 0, amount - amount % 10, 'Patient ' || bench.patient_of(n),
      '+9199' || lpad((bench.chance(n, 2) % 2000000)::text, 8, '0'), amount % 10,
      case when n % 20 = 1 then amount else 0 end, 'pay_' || n, case when n % 20 = 1 then 0 else amount end, 'doctor',
      'https://files.invalid/r/' || n || '.pdf', '64a1f0c2e4b0a1b2c3d4e5f6',
      case when n % 50 = 3 then 'receipt.deleted' else 'receipt.created' end, at,
      case when n % 50 = 3 then at end, '{}', bench.id_of(n, '001'), at + interval '1 second', at + interval '2 seconds'
    from generate_series($1::bigint, $2) n, lateral (
      select bench.business_of(n) as b, bench.at(n) as at, bench.chance(n, 5) % 500000 / 100.0 as amount offset 0
    ) made`,
  applied_deliveries: `
    insert into applied_deliveries (id, family, business_id, event_time, received_at, applied_at)
    select bench.id_of(n, '001'), 'receipt', bench.business_of(n), at, at + interval '1 second', at + interval '2 seconds'
    from generate_series($1::bigint, $2) n, lateral (select bench.at(n) as at offset 0) made`,
  inbox: `
    insert into inbox (id, event, family, client_id, business_id, event_time, envelope, received_at, patients)
    select bench.id_of(n, '001'), 'receipt.created', 'receipt', '64a1f0c2e4b0a1b2c3d4e5f6', bench.business_of(n), at,
      case when n > ${receipts - bodies} then (
        select jsonb_build_object('event', last_event, 'event_time', extract(epoch from at)::bigint, 'data', to_jsonb(r))
        from receipts r where r.business_id = bench.business_of(n) and r.receipt_id = n
      ) else '{"data": {}}' end, at + interval '1 second', null
    from generate_series($1::bigint, $2) n, lateral (select bench.at(n) as at offset 0) made`,
  consent_forms: `
    insert into consent_forms (business_id, id, docid, patientid, client_id, last_event, event_time, extra, delivery_id)
    select b, 'm' || n, b || 'd' || bench.chance(n, 3) % 8, bench.patient_of(n), 'c', 'mcert.created', bench.at(n), '{}',
      bench.id_of(n, '002')
    from generate_series($1::bigint, $2, 20) n, lateral (select bench.business_of(n) as b offset 0) made`,
  review_requests: `
    insert into review_requests (business_id, doctor_id, patient_id, clinic_id, client_id, last_event, event_time, extra,
      delivery_id)
    select b, b || 'd' || bench.chance(n, 3) % 8, bench.patient_of(n), b || 'c' || bench.chance(n, 3) % 8 % 3, 'c',
      'google_review.request', bench.at(n), '{}', bench.id_of(n, '003')
    from generate_series($1::bigint, $2, 20) n, lateral (select bench.business_of(n) as b offset 0) made`,
  appointments: `
    insert into appointments (business_id, appointment_id, doctor_id, patient_id, clinic_id, status, created_at, modified_at,
      client_id, last_event, event_time, extra, delivery_id, received_at, applied_at)
    select b, 'a' || n, b || 'd' || bench.chance(n, 3) % 8, bench.patient_of(n), b || 'c' || bench.chance(n, 3) % 8 % 3,
      (array['BK', 'CM', 'CM', 'CMNP', 'CN'])[1 + n / 10 % 5], at, at + interval '1 hour', 'c', 'appointment.created', at, '{}',
      bench.id_of(n, '004'), at, at
    from generate_series($1::bigint, $2, 10) n, lateral (select bench.business_of(n) as b, bench.at(n) as at offset 0) made`,
});

/**
 * Fills the tables: without their indexes, which are made again at the end, and without triggers; then makes the kept sums.
 *
 * @param pool of a role that owns the tables
 * @param report called with what was done, and the seconds that it took
 */
export async function fillHistory(
  { pool, db }: { pool: pg.Pool; db: Db },
  history: History,
  report: (line: string) => void,
): Promise<void> {
  const timed = async <T>(what: string, run: () => Promise<T>): Promise<T> => {
    const began = performance.now();
    const result = await run();
    report(`${what}: ${((performance.now() - began) / 1000).toFixed(0)} s`);
    return result;
  };
  await pool.query(functions(history));
  const statements = inserts(history);
  const tables = Object.keys(statements);
  const { rows: indexes } = await pool.query<{ name: string; statement: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as statement from pg_index
     where indrelid = any($1::regclass[]) and not indisunique order by indrelid`,
    [tables],
  );
  for (const { name } of indexes) await pool.query(`drop index ${name}`);
  for (const table of tables) await pool.query(`alter table ${table} disable trigger user`);
  const insert = (table: string) =>
    timed(table, async () => {
      for (let from = 1; from <= history.receipts; from += perStatement) {
        const to = Math.min(from + perStatement - 1, history.receipts);
        await pool.query(statements[table]!, [from, to]);
      }
    });
  await Promise.all([insert('receipts'), insert('applied_deliveries').then(() => insert('appointments'))]);
  await Promise.all([insert('inbox'), insert('consent_forms').then(() => insert('review_requests'))]);
  const missing = [...indexes];
  const build = async () => {
    for (let next = missing.pop(); next; next = missing.pop()) {
      const { name, statement } = next;
      await timed(name, () => pool.query(statement));
    }
  };
  await Promise.all([build(), build()]);
  for (const table of tables) await pool.query(`alter table ${table} enable trigger user`);
  await timed('vacuum', () => pool.query('vacuum analyze'));
  for (const sums of ['activities', 'appointments'] satisfies Sums[]) {
    await pool.query('select outdate_all($1)', [sums]);
    await timed(`sums of ${sums}`, async () => {
      while ((await updateSums(db, sums)).hasMore);
    });
  }
  await pool.query('vacuum analyze kept_activities, kept_appointments, outdated_days');
}
