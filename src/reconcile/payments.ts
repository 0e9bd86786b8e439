import { sql } from 'kysely';
import { timeSchema } from '../families/field.ts';
import type { Db } from '../store/tables.ts';
import type { Window } from './days.ts';
import { storableFields } from './fitting.ts';
import { againAfter, type FollowUp, mostDue } from './follow-up-kind.ts';

export interface DuePayment {
  payment: string;
  receipt: string;
}

/**
 * The payments of a business's receipts: of the receipts of these days that nobody has asked for, and those to be asked for
 * again, the longest waiting first.
 */
async function findDue(db: Db, business: string, { from, to }: Window): Promise<DuePayment[]> {
  const { rows } = await sql<DuePayment>`
    (select payment_id as payment, receipt_id::text as receipt from payments
     where business_id = ${business} and ask_again_at <= now()
     order by ask_again_at limit ${mostDue})
    union all
    (select payment_id, min(receipt_id)::text from receipts r
     where business_id = ${business} and payment_id <> '' and length(payment_id) <= 200
       and reporting.day(coalesce(created_at, first_event_time, event_time)) between ${from}::date and ${to}::date
       and not exists (select from payments p where p.business_id = r.business_id and p.payment_id = r.payment_id)
     group by payment_id limit ${mostDue})
    limit ${mostDue}`.execute(db);
  return rows;
}

const settledStatus = 'PAYMENT_SUCCESS';

/**
 * Writes what the platform told, unless the receipt is gone. A payment that it does not know keeps its last status.
 *
 * @param read undefined: not known, or not readable
 */
async function save(
  db: Db,
  business: string,
  { payment, receipt }: DuePayment,
  read: Readonly<Record<string, unknown>> | undefined,
): Promise<void> {
  const { transaction_id: _, created_at, ...told } = storableFields(read ?? {});
  const fields = timeSchema.safeParse(created_at).success ? { ...told, created_at } : told;
  const keepDays = read ? 30 : 7;
  await sql`
    with receipt as (
      -- An erasure waits, or is over.
      select business_id, receipt_id from receipts
      where business_id = ${business} and receipt_id = ${receipt}::bigint for key share
    ), told as (
      select
        case when fields->>'amount' ~ '^[0-9]{1,15}([.][0-9]{1,6})?$' then (fields->>'amount')::numeric end as amount,
        fields->>'payment_mode' as mode, fields->>'payment_gateway' as gateway, fields->>'rrn' as rrn,
        fields->>'payment_status' as status, callback_time(fields->'created_at') as created_at,
        fields - '{amount,payment_mode,payment_gateway,rrn,payment_status,created_at}'::text[] as extra
      from (select ${JSON.stringify(fields)}::jsonb as fields) read
    )
    insert into payments as former
      (business_id, payment_id, receipt_id, amount, mode, gateway, rrn, status, created_at, extra, ask_again_at)
    select business_id, ${payment}, receipt_id, amount, mode, gateway, rrn, status, told.created_at, extra,
           case when status = ${settledStatus} then null else now() + interval '1 hour' end
    from receipt cross join told
    on conflict (business_id, payment_id) do update set
      asked_at = excluded.asked_at,
      amount = coalesce(excluded.amount, former.amount), mode = coalesce(excluded.mode, former.mode),
      gateway = coalesce(excluded.gateway, former.gateway), rrn = coalesce(excluded.rrn, former.rrn),
      status = coalesce(excluded.status, former.status), created_at = coalesce(excluded.created_at, former.created_at),
      extra = former.extra || excluded.extra,
      ask_again_at = case when excluded.ask_again_at is not null then ${againAfter(sql`former.first_asked_at`, keepDays)} end`.execute(
    db,
  );
}

/** Mode, gateway, bank's reference and status of the payments that receipts name, into `payments`. */
export const payments: FollowUp<DuePayment> = {
  findDue: ({ db, business }, days) => findDue(db, business, days),
  ask: async ({ db, business, platform, signal }, due) => {
    const read = await platform.payment(due.payment, signal);
    await save(db, business, due, read);
    return read ? 'found' : 'unknown';
  },
  postpone: ({ db, business }, due) => save(db, business, due, undefined),
};
