import { sql } from 'kysely';
import { foldedRows } from '../families/fold.ts';
import type { Family } from '../families/index.ts';
import { isSaidTime, rowsMadeOf } from '../families/rows.ts';
import { equal, keyOf, listOf, literal, qualified, quoted, readKey, recordsInFeed } from '../families/sql.ts';
import { recordChanges } from '../store/changed-records.ts';
import { erasureGate } from '../store/erasure-gate.ts';
import { isDamaged, isRefusal } from '../store/faults.ts';
import type { Db } from '../store/tables.ts';
import { runText, withPlanForAnySize } from '../store/transactions.ts';
import { findApplied } from './find-deliveries.ts';

// Makes rows anew from the callbacks about their records, where they differ from that: former versions wrote each version as a
// whole, and took a time that says nothing for one. Applying these callbacks again would not do: what such a row says of itself,
// and so its place among the versions, is what is wrong.

/** A row of a family's table: the key of its record, as text, the delivery that it is made of, and what that is about. */
interface Row {
  business_id: string;
  id: string;
  delivery_id: string;
  /** See the function thing_of. */
  thing: string | null;
}

/** Where a step begins: after a key of a family. */
export interface Place {
  family: string;
  after?: readonly string[] | undefined;
}

/** Sums of the receipts of a day that were made anew, before and after. Amounts are text. */
export interface MovedSum {
  day: string;
  business_id: string;
  net_before: string;
  net_after: string;
  paid_before: string;
  paid_after: string;
  due_before: string;
  due_after: string;
}

export interface Refolded {
  /** Records that were looked at. */
  records: number;
  changed: number;
  /** Records that may lack what an older callback said, because bodies are reduced; and those that the database refuses. */
  unmended: number;
  moved: MovedSum[];
}

interface Step extends Refolded {
  /** Undefined: it was the last step. */
  next: Place | undefined;
}

// A page is compared with itself in nested loops.
const perStep = 200;

/**
 * Makes the rows of the next records anew, in a transaction, where they differ from what their callbacks make. What an erasure
 * deletes meanwhile is left out.
 *
 * @param place undefined: a pass begins
 * @param options `dryRun`: everything is rolled back
 * @throws the database's error; the step can be repeated
 */
export async function refoldNext(
  db: Db,
  families: readonly Family[],
  place: Place | undefined,
  { dryRun = false }: { dryRun?: boolean } = {},
): Promise<Step> {
  const at = Math.max(
    0,
    families.findIndex(({ name }) => name === place?.family),
  );
  const family = families[at]!;
  const after = family.name === place?.family ? place.after : undefined;
  const rows = await withPlanForAnySize(db, (tx) =>
    runText<Row>(tx, pageStatement(family, after !== undefined), [...(after ?? [])]),
  );
  const refolded = await refold(db, families, family, rows, dryRun);
  const last = rows.at(-1);
  const following = families[at + 1];
  const next =
    last && rows.length === perStep
      ? { family: family.name, after: family.identifiedBy ? [last.business_id, last.id] : [last.id] }
      : following && { family: following.name };
  return { ...refolded, next };
}

async function refold(
  db: Db,
  families: readonly Family[],
  family: Family,
  rows: readonly Row[],
  dryRun: boolean,
): Promise<Refolded> {
  if (rows.length === 0) return { records: 0, changed: 0, unmended: 0, moved: [] };
  try {
    const { found, unmended } = await withPlanForAnySize(db, (tx) => compare(tx, families, family, rows));
    const wanted = rows.filter(({ business_id, id }) => found.has(nameOf(business_id, id)));
    const mended =
      wanted.length > 0
        ? await withPlanForAnySize(db, (tx) => mend(tx, families, family, wanted), { dryRun })
        : { changed: 0, moved: [] };
    return { records: rows.length, unmended, ...mended };
  } catch (error) {
    if (!isDamaged(error) && !isRefusal(error)) throw error;
    if (rows.length === 1) return { records: 1, changed: 0, unmended: 1, moved: [] };
    const middle = rows.length >> 1;
    const first = await refold(db, families, family, rows.slice(0, middle), dryRun);
    const second = await refold(db, families, family, rows.slice(middle), dryRun);
    return addUp(first, second);
  }
}

export const addUp = (one: Refolded, other: Refolded): Refolded => ({
  records: one.records + other.records,
  changed: one.changed + other.changed,
  unmended: one.unmended + other.unmended,
  moved: [...one.moved, ...other.moved],
});

const nameOf = (business: string, id: string) => JSON.stringify([business, id]);

/** Finds the rows that differ from what their callbacks make, and counts those of which that is not known. Locks nothing. */
async function compare(tx: Db, families: readonly Family[], family: Family, rows: readonly Row[]) {
  const [result] = await runText<{ found: [business: string, id: string][]; unmended: number }>(
    tx,
    `${made(family)}
    select (select coalesce(jsonb_agg(jsonb_build_array(business_id, ${quoted(keyOf(family).at(-1)!)}::text)), '[]') from found) as found,
      (${countUnmended(family)})::int as unmended`,
    await valuesOf(tx, families, family, rows),
  );
  const { found, unmended } = result!;
  return { found: new Set(found.map(([business, id]) => nameOf(business, id))), unmended };
}

/** Rows are locked first, in the order in which they are applied: each statement after that sees what others have written. */
async function mend(tx: Db, families: readonly Family[], family: Family, rows: readonly Row[]) {
  const locked = await runText<Row>(tx, lockStatement(family), keysOf(rows));
  const values = await valuesOf(tx, families, family, locked);
  const hasAmounts = family.name === 'receipt';
  const before = hasAmounts && (await readAmounts(tx, locked));
  const [result] = await runText<{ changed: number }>(tx, mendStatement(family), values);
  if (family.versions) await runText(tx, versionsStatement(family), values);
  const moved = before ? await recordMoved(tx, locked, before) : [];
  return { changed: result!.changed, moved };
}

const keysOf = (rows: readonly Row[]) => [
  rows.map(({ business_id }) => business_id),
  rows.map(({ id }) => id),
];

/** The parameters of statements: $1, businesses, and $2, ids of the records; $3, the deliveries about them. */
async function valuesOf(tx: Db, families: readonly Family[], family: Family, rows: readonly Row[]) {
  const own = rows.map(({ delivery_id }) => delivery_id);
  const about = new Map(
    rows.flatMap(({ business_id, thing }) =>
      thing === null ? [] : [[nameOf(business_id, thing), { business_id, thing }] as const],
    ),
  );
  const thingFamily = family.partOf ?? family.name;
  const records = [...about.values()].map((record) => ({ ...record, family: thingFamily }));
  const applied = family.identifiedBy
    ? await findApplied(
        tx,
        families.filter(({ name }) => name === thingFamily),
        records,
      )
    : [];
  return [...keysOf(rows), [...new Set([...own, ...applied])]];
}

/** Whether a row, `t`, has the key of `k (business_id, thing)`. */
function hasKey(family: Family): string {
  const { identifiedBy, fields } = family;
  if (!identifiedBy) return 't.delivery_id = k.thing::uuid';
  const { json, column } = fields[identifiedBy]!;
  return `t.business_id = k.business_id and t.${quoted(identifiedBy)} = ${column(`k.thing::${json}`)}`;
}

const wantedKeys = 'unnest($1::text[], $2::text[]) as k (business_id, thing)';

/** The columns of a `Row`, of a row `t`. */
function rowOf(family: Family): string {
  const id = `t.${quoted(keyOf(family).at(-1)!)}::text`;
  const thing = family.versions
    ? id
    : '(select thing_of(i.family, i.envelope) from inbox i where i.id = t.delivery_id)';
  return `t.business_id, ${id} as id, t.delivery_id, ${thing} as thing`;
}

function pageStatement(family: Family, isAfter: boolean): string {
  const key = qualified('t', keyOf(family));
  const { identifiedBy, fields } = family;
  const field = identifiedBy ? fields[identifiedBy]! : undefined;
  const after = field ? `$1, ${field.column(`$2::${field.json}`)}` : '$1::uuid';
  return `
select ${rowOf(family)} from ${quoted(family.table)} t
${isAfter ? `where (${key}) > (${after})` : ''} order by ${key} limit ${perStep}`;
}

const lockStatement = (family: Family): string => `
with ${erasureGate}
select ${rowOf(family)} from ${wantedKeys} join ${quoted(family.table)} t on ${hasKey(family)}
order by ${qualified('t', keyOf(family))} for update of t`;

/** Columns that say when a delivery came, and nothing about the record. */
const isOfDelivery = (column: string) => ['received_at', 'applied_at'].includes(column);

/**
 * The common table expressions of the rows as they should be. `existing` contains them as they are, `said` what whole callbacks
 * say, `kept` versions whose bodies are gone, `again` the rows that all of it makes, and `found` those that differ.
 */
function made(family: Family): string {
  const { table, versions, identifiedBy, name } = family;
  const { columns, query } = rowsMadeOf(family, 'loaded');
  const key = keyOf(family);
  const compared = columns.filter((column) => !isOfDelivery(column));
  const shown = compared.filter((column) => column !== 'carried');
  const differ = (one: string, other: string, of = compared) =>
    `(${qualified(one, of)}) is distinct from (${qualified(other, of)})`;
  const isWhole = (row: string) => `${row}.delivery_id in (select id from loaded)`;
  const source = versions
    ? `select ${qualified('own', columns)}
    from existing cross join lateral jsonb_populate_record(null::${quoted(table)}, unfolded(to_jsonb(existing))) own
    union all
    select ${qualified('v', columns)} from existing join ${quoted(versions)} v on ${equal('v', 'existing', key)}`
    : // Where there is no table of versions, the row alone has their values.
      'select * from existing';
  const areVersionsOther = versions
    ? `or exists (
    select from said join ${quoted(versions)} v on ${equal('v', 'said', [...key, 'delivery_id'])}
    where ${equal('said', 'again', key)} and (said.delivery_id = again.delivery_id or ${differ('v', 'said')})
  )`
    : '';
  const hasValuesOfGone =
    identifiedBy && !versions
      ? `existing.carried->>'of' = existing.delivery_id::text and ${isWhole('existing')} and exists (
    select from jsonb_object_keys(existing.carried->'from') as version where right(version, 36)::uuid not in (select id from loaded)
  )`
      : 'false';
  return `
with ${erasureGate}, existing as materialized (
  select ${qualified('t', columns)} from ${wantedKeys} join ${quoted(table)} t on ${hasKey(family)}
), loaded as materialized (
  select d.id, d.event, d.family, d.client_id, d.business_id, d.event_time, d.envelope, d.received_at,
    coalesce(a.applied_at, d.received_at) as applied_at
  from unnest($3::uuid[]) as k (id) join inbox d using (id) left join applied_deliveries a using (id)
  where d.family = ${literal(name)} and d.envelope ? 'event_time'
), said as materialized (
  select * from (${query}) said where (${listOf(key)}) in (select ${listOf(key)} from existing)
), kept as materialized (
  ${keptRows(family, columns, `select * from (${source}) gone where not ${isWhole('gone')}`)}
), settled as materialized (
  select ${listOf(key)} from existing where ${hasValuesOfGone}
), versions as materialized (
  select * from said union all select * from kept
), again as materialized (
  ${identifiedBy ? foldedRows(family, 'versions', columns, `(${qualified('versions', key)}) not in (select * from settled)`) : 'select * from versions'}
), found as materialized (
  select again.*, ${differ('again', 'existing')} as differs, ${differ('again', 'existing', shown)} as is_shown
  from again join existing on ${equal('again', 'existing', key)}
  where (${differ('again', 'existing')} ${areVersionsOther})
    and not exists (select from versions join erasing e on e.id = versions.delivery_id where ${equal('versions', 'again', key)})
)`;
}

/**
 * The query for versions whose bodies are gone. Of what a former version wrote it is not known which fields its callback lacked;
 * but a time that says nothing is recognized by itself.
 */
function keptRows({ fields, identifiedBy }: Family, columns: readonly string[], rows: string): string {
  const times = Object.keys(fields).filter((name) => isSaidTime(fields[name]!));
  // A worker of a former version has left what the row before lacked.
  const isKnown = identifiedBy ? `coalesce(carried->>'of' = delivery_id::text, false)` : 'false';
  const said = (name: string) =>
    `case when ${isKnown} or ${quoted(name)} between '2000-01-01T00:00Z' and event_time + interval '1 day' then ${quoted(name)} end`;
  const lacks = times.toSorted().map((name) => `case when (${said(name)}) is null then ${literal(name)} end`);
  const mask = `(
      select jsonb_build_object('of', delivery_id, 'lacks', lacks)
      from (select array_remove(array[${lacks.join(', ')}]::text[], null) as lacks) l where lacks <> '{}')`;
  const keptValue = (column: string) => {
    if (column === 'carried') return `case when ${isKnown} then carried else ${mask} end`;
    return times.includes(column) ? said(column) : quoted(column);
  };
  return `select ${columns.map((column) => `${keptValue(column)} as ${quoted(column)}`).join(', ')} from (${rows}) kept`;
}

/** What the feed tells is what shows: not that a row has learned what its callback lacked. */
function mendStatement(family: Family): string {
  const { columns } = rowsMadeOf(family, 'loaded');
  const key = [...new Set(['business_id', ...keyOf(family)])];
  return `${made(family)}, changed as (
  update ${quoted(family.table)} existing set (${listOf(columns)}) = row(${qualified('found', columns)})
  from found where ${equal('existing', 'found', keyOf(family))} and found.differs
  returning ${qualified('existing', key)}, found.is_shown
), shown as (
  select * from changed where is_shown
), recorded as (${recordChanges('changed', recordsInFeed(family, 'shown'))}
)
select (select count(*) from found)::int as changed`;
}

/** What an older version said; a trigger has copied a row that is no longer the newest as it was. */
function versionsStatement(family: Family): string {
  const { columns } = rowsMadeOf(family, 'loaded');
  const key = keyOf(family);
  const version = [...key, 'delivery_id'];
  const compared = columns.filter((column) => !isOfDelivery(column));
  return `${made(family)}, corrected as (
  update ${quoted(family.versions!)} v set (${listOf(columns)}) = row(${qualified('said', columns)})
  from said where ${equal('v', 'said', version)} and (${qualified('v', compared)}) is distinct from (${qualified('said', compared)})
    and said.delivery_id not in (select delivery_id from existing)
    and not exists (select from erasing e where e.id = said.delivery_id)
)
delete from ${quoted(family.versions!)} v using existing where ${equal('v', 'existing', version)}`;
}

/** The count of records whose rows may lack what an older callback said: it cannot be read any more. */
function countUnmended(family: Family): string {
  const { fields, identifiedBy, versions } = family;
  if (!identifiedBy) return '0';
  const key = keyOf(family);
  const names = Object.keys(fields).filter((name) => name !== identifiedBy);
  const isNull = (row: string) => `(${names.map((name) => `${row}.${quoted(name)} is null`).join(' or ')})`;
  const lacks = `exists (
      select from versions told where ${equal('told', 'again', key)} and (${names
        .map((name) => `again.${quoted(name)} is null and told.${quoted(name)} is not null`)
        .join(' or ')}))`;
  const times = names.filter((name) => isSaidTime(fields[name]!));
  const isUnknown = (condition = 'true') => `exists (
      select from kept where ${equal('kept', 'again', key)} and ${condition}
        and coalesce(kept.carried->'lacks', '[]') <@ ${literal(JSON.stringify(times))}::jsonb)`;
  if (versions) return `select count(*) from again where ${isUnknown()} and ${lacks}`;
  // Nothing is left of the other callbacks.
  const others = `exists (
      select from unnest($3::uuid[]) as k (id) join inbox d using (id)
      where d.family = ${literal(family.name)} and not d.envelope ? 'event_time' and d.business_id = again.business_id
        and ${readKey(family, 'd')} = again.${quoted(identifiedBy)} and d.id <> again.delivery_id)`;
  const isUnfilled = `exists (
      select from jsonb_array_elements_text(again.carried->'lacks') as field where not sources_of(again.carried) ? field)`;
  return `select count(*) from again
    where ${isUnknown()} and ${lacks} or (${isUnknown(isNull('kept'))} or ${isUnfilled}) and ${others}`;
}

const amounts = (rows: readonly Row[]) => sql`
  select r.business_id, r.receipt_id, r.day, r.net_amount as net, r.paid_amount as paid, r.due_amount as due
  from unnest(${rows.map(({ business_id }) => business_id)}::text[], ${rows.map(({ id }) => id)}::bigint[])
    as k (business_id, receipt_id)
  join reporting.all_receipts r on r.business_id = k.business_id and r.receipt_id = k.receipt_id
  where r.deleted_at is null`;

/** The day and the amounts of receipts that are not deleted, as JSON. */
async function readAmounts(tx: Db, rows: readonly Row[]): Promise<string> {
  const { rows: read } = await sql<{ before: string }>`
    select coalesce(jsonb_agg(to_jsonb(r)), '[]')::text as before from (${amounts(rows)}) r`.execute(tx);
  return read[0]!.before;
}

/** Adds what receipts have moved to moved_sums. @param before see `readAmounts` */
async function recordMoved(tx: Db, rows: readonly Row[], before: string): Promise<MovedSum[]> {
  const one = sql`business_id text, receipt_id bigint, day date, net numeric, paid numeric, due numeric`;
  const columns = sql`business_id, receipt_id, day, net, paid, due`;
  const sums = sql.join(
    ['net', 'paid', 'due'].flatMap((name) =>
      [sql`not is_after`, sql`is_after`].map(
        (side) => sql`coalesce(sum(${sql.ref(name)}) filter (where ${side}), 0)`,
      ),
    ),
  );
  const { rows: moved } = await sql<MovedSum>`
    with before as (
      select ${columns} from jsonb_to_recordset(${before}::jsonb) as b (${one})
    ), after as (
      select ${columns} from (${amounts(rows)}) r
    ), other as (
      (select *, false as is_after from (table before except table after) gone)
      union all
      (select *, true from (table after except table before) come)
    ), moved (day, business_id, net_before, net_after, paid_before, paid_after, due_before, due_after) as (
      select day, business_id, ${sums} from other group by day, business_id
    ), recorded as (
      insert into moved_sums as m (day, business_id, net_before, net_after, paid_before, paid_after, due_before, due_after)
      select * from moved where (net_before, paid_before, due_before) <> (net_after, paid_after, due_after)
      order by day, business_id
      on conflict (day, business_id) do update set moved_at = now(), read_at = null,
        net_before = m.net_before + excluded.net_before, net_after = m.net_after + excluded.net_after,
        paid_before = m.paid_before + excluded.paid_before, paid_after = m.paid_after + excluded.paid_after,
        due_before = m.due_before + excluded.due_before, due_after = m.due_after + excluded.due_after
    )
    select day::text, business_id, net_before::text, net_after::text, paid_before::text, paid_after::text,
      due_before::text, due_after::text
    from moved where (net_before, paid_before, due_before) <> (net_after, paid_after, due_after)`.execute(tx);
  return moved;
}
