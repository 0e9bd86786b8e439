import { type QueryExecutorProvider as Db, type RawBuilder, sql } from 'kysely';
import { spaces } from '../../callbacks/subjects.ts';
import { businessesOfInbox } from '../../receiver/store/columns.ts';
import { type ViewColumn, viewColumn } from '../../receiver/store/view-columns.ts';
import type { Values } from '../ui/context.ts';
import { sumOf } from '../ui/values.tsx';
import type { List } from './list.ts';
import { maxText } from './xlsx.ts';

export const read = async <Row>(db: Db, query: RawBuilder<Row>): Promise<Row[]> =>
  (await query.execute(db)).rows;

export async function readBusinesses(db: Db): Promise<string[]> {
  const { rows } = await sql.raw<{ business_id: string }>(businessesOfInbox).execute(db);
  return rows.map(({ business_id }) => business_id);
}

/** As one parameter: PostgreSQL pushes no sub-select down into a view of two parts. */
export const textArray = (texts: readonly string[]) => sql<string[]>`${texts}::text[]`;

export const pageRows = 100;
/** More rows are neither counted nor summed. */
export const maxCounted = 100_000;

/** Every value as a text. */
export type ListRow = Readonly<Record<string, string | null>>;

export interface ListQuery {
  list: List;
  /** The address of its first page: places, choices and texts filter it, and the range, or the days, that are asked for. */
  entered: Values;
  /** Days such as 2026-11-22, both included. */
  from?: string | undefined;
  to?: string | undefined;
  given?: readonly RawBuilder<unknown>[];
  /** The patient whose entries of the access log are selected. */
  about?: readonly string[] | undefined;
  /** From 1. */
  page?: number | undefined;
  isPersonal: boolean;
  /** Every business, for the indexes that begin with it. */
  businesses: readonly string[];
}

export function columnsOf({ list, isPersonal, businesses, entered }: ListQuery): ViewColumn[] {
  const isOne =
    businesses.length < 2 || entered.business || list.groupBy || !list.places.includes('business');
  const several = isOne ? [] : ['business_id'];
  const columns = [...list.columns, ...several].map(viewColumn);
  return columns
    .filter(({ personal }) => isPersonal || !personal)
    .map((column) => (list.isUnsummed ? { ...column, summed: false } : column));
}

export function fileColumnsOf(query: ListQuery): ViewColumn[] {
  const columns = [...columnsOf(query), ...query.list.also.map(viewColumn)];
  const own = columns.filter(({ personal }) => query.isPersonal || !personal);
  return [...new Map(own.map((column) => [column.name, column])).values()];
}

/** The part of a query that begins with `from`: rows `l` of the list. A filter that it has no column for does not filter it. */
export function matching(query: ListQuery, where?: RawBuilder<unknown>): RawBuilder<unknown> {
  const { list, entered, from, to, given = [], businesses } = query;
  const ids = list.places.filter((kind) => entered[kind]);
  const choices = Object.keys(list.choices).filter((name) => entered[name]);
  const isOfAny = sql`business_id = any(${textArray(businesses)})`;
  // Payments of all businesses are found by their days alone.
  const isOf = list.groupBy ? sql`(kind = 'payment' or ${isOfAny})` : isOfAny;
  const conditions = [
    sql`true`,
    ...ids.map((kind) => sql`l.${sql.ref(`${kind}_id`)} = ${entered[kind]}`),
    from && sql`day >= ${from}::date`,
    to && sql`day <= ${to}::date`,
    ...choices.map((name) => sql`l.${sql.ref(name)} = ${entered[name]}`),
    list.narrowed?.[entered.state ?? ''],
    ...given,
    list.leadsWithBusiness && !entered.business && isOf,
    where,
  ].filter((condition) => typeof condition === 'object');
  const rows = sql`from ${list.source} l where ${sql.join(conditions, sql` and `)}`;
  if (!list.groupBy) return rows;
  const [group, ...columns] = list.columns.map((name) => sql.ref(name));
  const sums = columns.map((name) => sql`sum(${name}) as ${name}`);
  return sql`from (select ${sql.join([group, ...sums])} ${rows} group by ${group}) l`;
}

/** Characters of a text on a page: a record's own page has all of them. No id of a record or a patient is longer. */
const maxOnPage = 250;

/** Cuts a text: a field may have a hundred thousand characters, and a page or a batch has hundreds of rows. */
const textOf = ({ name, kind }: ViewColumn, max: number) => {
  const column = sql.ref(name);
  if (kind === 'link' || kind === 'json') return sql`${column}::text`;
  return sql`case when length(${column}::text) > ${max} then left(${column}::text, ${max - 1}) || '…' else ${column}::text end`;
};

export interface Part {
  limit?: number;
  offset?: number;
  where?: RawBuilder<unknown>;
}

export function queryRows(
  query: ListQuery,
  columns: readonly ViewColumn[],
  { limit, offset = 0, where }: Part = {},
) {
  const { list } = query;
  const chosen = columns.map(({ name }) => sql`l.${sql.ref(name)}`);
  const max = limit ? maxOnPage : maxText;
  const texts = columns.map((column) => sql`${textOf(column, max)} as ${sql.ref(column.name)}`);
  return sql<ListRow>`select ${sql.join(texts)} from (
    select ${sql.join(chosen)} ${matching(query, where)}
    order by ${sql.raw(list.order)} ${limit ? sql`limit ${limit} offset ${offset}` : sql``}) as rows`;
}

/**
 * The newest rows of all days are mostly of the last month: then the others are not read. A list whose own range is all days
 * need not be in the order of its days.
 */
export async function readPage(db: Db, query: ListQuery, offset: number): Promise<ListRow[]> {
  const { range, order } = query.list;
  const readPart = (part: Part) =>
    read(db, queryRows(query, fileColumnsOf(query), { limit: pageRows, offset, ...part }));
  const isNewestFirst = !query.from && range !== 'all' && order.includes(' desc');
  const newest = isNewestFirst ? await readPart({ where: sql`day > reporting.today() - 30` }) : [];
  return newest.length === pageRows ? newest : readPart({});
}

export const readGroups = (db: Db, query: ListQuery) =>
  read(db, queryRows(query, columnsOf(query), { limit: maxCounted }));

export interface Totals {
  /** At most one more than `maxCounted`: then there are no sums. */
  rows: number;
  sums: ListRow;
}

export async function readTotals(db: Db, query: ListQuery): Promise<Totals> {
  const summed = columnsOf(query).filter((column) => column.summed);
  // What was paid too much takes nothing from what is due elsewhere.
  const counted = (name: string) =>
    name === 'due_amount' ? sql`greatest(l.due_amount, 0) as due_amount` : sql`l.${sql.ref(name)}`;
  const names = summed.map(({ name }) => counted(name));
  const sums = summed.map(({ name }) => sql`${sql.lit(name)}, sum(${sql.ref(name)})::text`);
  const [totals] = await read(
    db,
    sql<Totals>`select count(*)::integer as rows, json_build_object(${sql.join(sums)}) as sums
      from (select ${sql.join(names)} ${matching(query)} limit ${maxCounted + 1}) counted`,
  );
  return totals!.rows > maxCounted ? { ...totals!, sums: {} } : totals!;
}

export function addUp(query: ListQuery, groups: readonly ListRow[]): Totals {
  const summed = columnsOf(query).filter((column) => column.summed);
  const sums = summed.map(({ name }) => [name, sumOf(groups, (row) => Number(row[name] ?? 0)).toFixed(2)]);
  return { rows: groups.length, sums: Object.fromEntries(sums) };
}

export interface RowsSummary {
  rows: number;
  patients: string[];
}

const subjectOf = {
  patient_id: sql`'p:platform:' || btrim(patient_id, ${spaces})`,
  delivery_id: sql`unnest(array(
    select s from receiver.inbox i, unnest(i.subjects) s where i.id = delivery_id::uuid and s like 'p:%'))`,
};

/** Whose rows these are. No patients are listed if there are more than `maxRows`. @param source begins with `from` */
export function summaryOf({ subjects }: List, source: RawBuilder<unknown>, maxRows: number) {
  const all =
    subjects.length === 0
      ? sql`select null as s`
      : sql.join(
          subjects.map((name) => sql`select ${subjectOf[name]} as s ${source}`),
          sql` union all `,
        );
  return sql<RowsSummary>`
    select count(*)::int as rows, case when count(*) <= ${maxRows} then
      array(select distinct s from (${all}) as named where s is not null) end as patients ${source}`;
}

export async function readPatients(db: Db, list: List, rows: readonly ListRow[]): Promise<string[]> {
  const ids = rows.map(({ patient_id = null, delivery_id = null }) => ({ patient_id, delivery_id }));
  const source = sql`from jsonb_to_recordset(${JSON.stringify(ids)}::jsonb) as shown(patient_id text, delivery_id text)`;
  const [summary] = await read(db, summaryOf(list, source, pageRows));
  return summary!.patients;
}
