import { type QueryExecutorProvider as Db, sql } from 'kysely';
import { type AliasKind, aliasKinds } from '../../reconcile/aliases.ts';
import { read, textArray } from '../lists/read.ts';

const keys = {
  day: sql`day::text`,
  doctor: sql`nullif(doctor_id, '')`,
  clinic: sql`nullif(clinic_id, '')`,
};
export type Grouping = keyof typeof keys;
export const groupings = Object.keys(keys) as Grouping[];

/** What was billed in some days, by the day of the receipt, and collected, by the day on which the money came. */
export interface Taken {
  /** A day, or the id of a place; null: no place. */
  key: string | null;
  collected: number;
  refunds: number;
  receipts: number;
  billed: number;
  due: number;
}

export interface Selection {
  from: string;
  to: string;
  /** All there are. */
  businesses: readonly string[];
  /** The chosen ones. */
  places: Partial<Record<AliasKind, string | undefined>>;
}

const isSelected = ({ from, to, places }: Selection) => {
  const chosen = aliasKinds.filter((kind) => places[kind]);
  const isChosen = chosen.map((kind) => sql`and ${sql.ref(`${kind}_id`)} = ${places[kind]}`);
  return sql`day between ${from}::date and ${to}::date ${sql.join(isChosen, sql` `)}`;
};

const receiptsOf = (selection: Selection) => sql`
  from reporting.receipts where ${isSelected(selection)} and business_id = any(${textArray(selection.businesses)})
    and not reporting.is_failed(status)`;

// Payments of all businesses are found by their days alone.
export const readTaken = (db: Db, by: Grouping, selection: Selection) =>
  read(
    db,
    sql<Taken>`
      select key, sum(collected)::float8 as collected, -sum(refunds)::float8 as refunds, sum(receipts)::int as receipts,
        sum(billed)::float8 as billed, sum(due)::float8 as due
      from (
        select ${keys[by]} as key, 0 as collected, 0 as refunds, 1 as receipts, coalesce(net_amount, 0) as billed,
          coalesce(due_amount, 0) as due ${receiptsOf(selection)}
        union all
        select ${keys[by]}, amount, least(amount, 0), 0, 0, 0 from reporting.payments where ${isSelected(selection)}
      ) taken group by key`,
  );

export type Billed = Record<'billed' | 'due', number> & { month: string };

/** What was billed in each month, by its first day. */
export const readMonths = (db: Db, selection: Selection) =>
  read(
    db,
    sql<Billed>`
      select to_char(day, 'YYYY-MM-01') as month, coalesce(sum(net_amount), 0)::float8 as billed,
        coalesce(sum(due_amount), 0)::float8 as due ${receiptsOf(selection)} group by 1`,
  );
