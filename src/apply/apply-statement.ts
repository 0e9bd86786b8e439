import { foldedRows, foldOnConflict, isAmong, recordsToFold } from '../families/fold.ts';
import type { Family } from '../families/index.ts';
import { rowsMadeOf } from '../families/rows.ts';
import { equal, keyOf, listOf, literal, qualified, quoted, recordsInFeed } from '../families/sql.ts';
import { versionKeyOf, versionOrder } from '../families/version-order.ts';
import { isFeedOpen, recordChanges } from '../store/changed-records.ts';
import { erasureGate } from '../store/erasure-gate.ts';
import { failure } from '../store/failure.ts';
import type { DeliveryStatus } from '../store/tables.ts';

/** A running erasure deletes what it has found, in a long transaction: whoever waited for its rows would wait for all of it. */
const isErasing = (table: string) => `exists (select from erasing e where e.id = ${table}.id)`;

/** A status, or a row of inbox alone: one that was stored while its status could not be. */
export type Taken = DeliveryStatus | 'no status';

/** Takes the deliveries that have this status, the ids $1 and one of these families; others are skipped. */
const taken: Record<Taken, (families: string) => string> = {
  received: (families) => `
  delete from pending_deliveries where id = any($1::uuid[]) and family in (${families})
    and not ${isErasing('pending_deliveries')}
  returning id, applied_at`,
  failed: (families) => `
  delete from failed_deliveries where id = any($1::uuid[]) and family in (${families})
    and not ${isErasing('failed_deliveries')}
  returning id, applied_at`,
  applied: (families) => `
  select id, applied_at from applied_deliveries where id = any($1::uuid[]) and family in (${families})
    and not ${isErasing('applied_deliveries')}
  order by id for update`,
  'no status': (families) => `
  select id, null::timestamptz as applied_at from inbox i where id = any($1::uuid[]) and family in (${families})
    and not ${isErasing('i')}
    and ${['pending', 'failed', 'applied'].map((status) => `not exists (select from ${status}_deliveries s where s.id = i.id)`).join(' and ')}
  order by id`,
};

const statements = new WeakMap<readonly Family[], Map<string, string>>();

/**
 * The statement that applies deliveries ($1, ids) of this status to their families' tables. It is one statement, so that
 * it takes one round trip and needs no transaction. It returns one row: the number of deliveries `applied` and of rows
 * `changed`, and `isOpen`: whether changes were recorded for the feed.
 *
 * It fails with `failureCode`, and changes nothing, if a row was silently dropped: each delivery needs its row of
 * `applied_deliveries`, and each record a row of this version or a greater one. One that another worker has written since the
 * statement began is not visible to it: the next attempt sees that.
 *
 * Deleting a delivery from the pending ones is the lock and the mark: of two workers, the second finds nothing. With
 * `planForAnySize` they are deleted in the order of their ids; the tables follow in the order of the list, each in the
 * order of its keys. This prevents deadlocks.
 *
 * @param recordsChanges false: it takes less time, and fails with `failureCode` if the feed of changes is open
 */
export function applyStatement(
  families: readonly Family[],
  status: Taken = 'received',
  recordsChanges = true,
): string {
  // Its text is long: to make it for each job, and to find its name, takes as long as a delivery.
  const made = statements.get(families) ?? new Map<string, string>();
  statements.set(families, made);
  const key = `${status} ${recordsChanges}`;
  const text = made.get(key) ?? makeStatement(families, status, recordsChanges);
  made.set(key, text);
  return text;
}

function makeStatement(families: readonly Family[], status: Taken, recordsChanges: boolean): string {
  const names = families.map(({ name }) => literal(name)).join(', ');
  const changed = families.map(({ name }) => quoted(`changed_${name}`));
  const [replayed, isReplayed] = status === 'failed' ? [', replayed', ', true'] : ['', ''];
  const applied = `, applied as (
  insert into applied_deliveries (id, family, business_id, event_time, received_at, applied_at${replayed})
  select id, family, business_id, event_time, received_at, coalesce(applied_at, now())${isReplayed} from loaded
  returning id
)`;
  // An older version may change what a report tells of the record, such as when an appointment was completed. What is applied
  // again changes nothing, unless its row or its version is another then.
  const changedRecords = families.flatMap((family) => {
    const from = !family.versions
      ? ['changed']
      : status === 'applied'
        ? ['changed', 'superseded']
        : ['incoming'];
    return from.map((name) => recordsInFeed(family, quoted(`${name}_${family.name}`)));
  });
  const numberOf = (name: string) => `(select count(*) from ${name})`;
  const numberChanged = changed.map(numberOf).join(' + ');
  const recorded = recordsChanges
    ? `, recorded as (${recordChanges('changed', changedRecords.join(' union all '))}
)`
    : '';
  const isDropped = [
    ...(recordsChanges ? [] : [isFeedOpen]),
    // Row security may hide rows of inbox.
    `${numberOf('taken')} <> ${numberOf('loaded')}`,
    ...(status === 'applied' ? [] : [`${numberOf('loaded')} <> ${numberOf('applied')}`]),
    // Where every delivery has changed a row, nothing is looked up.
    `${numberOf('loaded')} <> ${numberChanged} and (${families.map((family) => `exists (${missingOf(family)})`).join(' or ')})`,
  ];
  return `
with ${erasureGate}, taken as materialized (${taken[status](names)}
), loaded as materialized (
  select id, d.event, d.family, d.client_id, d.business_id, d.event_time, d.envelope, d.received_at, taken.applied_at
  from taken join inbox d using (id)
), ${families.map((family) => upsertOf(family, status !== 'received')).join(', ')}${status === 'applied' ? '' : applied}${recorded}
select ${numberOf('loaded')}::int as applied, (${numberChanged})::int as changed,
  case when ${isDropped.join(' or ')} then ${failure} end as dropped,
  (select extract(epoch from now() - min(received_at))::float8 from loaded) as "waitedS",
  ${recordsChanges ? isFeedOpen : 'false'} as "isOpen"`;
}

const upserts = new WeakMap<Family, string>();

function upsertOf(family: Family, isReplay: boolean): string {
  if (isReplay) return upsertStatement(family, true);
  const upsert = upserts.get(family) ?? upsertStatement(family, false);
  upserts.set(family, upsert);
  return upsert;
}

/**
 * The common table expressions of one family; `changed_<family>` contains the rows that it changed.
 *
 * PostgreSQL parses the JSON. A row is that of the greatest version (src/families/version-order.ts), and each of its fields has
 * the value of the greatest version that says it (src/families/fold.ts), so the order of application makes no difference. A
 * row changes for a greater version, for one that says what greater ones lack, or when the same version is replayed into
 * changed columns. Rows are written in key order, which prevents deadlocks between workers.
 *
 * Where the family has a table of versions, its table contains the newest and the table of versions all others. A version
 * that is replaced is copied there by a trigger; one that is not the newest when it is applied is inserted here.
 *
 * @param isReplay whether the deliveries may have been applied before
 */
function upsertStatement(family: Family, isReplay: boolean): string {
  const { name, versions } = family;
  const { columns: own, query } = rowsMadeOf(family, 'loaded');
  const key = keyOf(family);
  const order = (row: string) => versionOrder(family, row);
  const [incoming, changed] = [quoted(`incoming_${name}`), quoted(`changed_${name}`)];
  const several = quoted(`several_${name}`);
  const newest = (condition: string) => `
    select distinct on (${listOf(key)}) ${listOf(own)} from ${incoming} ${condition}
    order by ${[listOf(key), ...order(incoming).map((value) => `${value} desc`)].join(', ')}`;
  // A delivery that is no record of its own has one version.
  const rows = family.identifiedBy
    ? `(${newest(`where not ${isAmong(family, incoming, several)}`)}) union all
  ${foldedRows(family, incoming, own, isAmong(family, incoming, several))}
  order by ${listOf(key)}`
    : newest('');
  const onConflict = family.identifiedBy
    ? foldOnConflict(family, own)
    : `do update set
    ${own.map((column) => `${quoted(column)} = excluded.${quoted(column)}`).join(',\n    ')}
  where (${qualified('existing', own)}) is distinct from (${qualified('excluded', own)})`;

  const expressions = [
    `${incoming} as materialized (${query}
)`,
    ...(family.identifiedBy ? [`${several} as materialized (${recordsToFold(family, incoming)}\n)`] : []),
    `${changed} as (
  insert into ${quoted(family.table)} as existing (${listOf(own)})
  ${rows}
  on conflict (${listOf(key)}) ${onConflict}
  returning ${listOf([...new Set(['business_id', ...key, 'delivery_id'])])}
)`,
  ];
  if (versions) {
    const version = [...key, 'delivery_id'];
    // One that was applied before, and lost its state since, may be the newest version. In this order, because a plan that is
    // made for empty tables may look it up by another index than that of the key.
    const newest = `select newest.delivery_id from ${quoted(family.table)} newest where ${equal('newest', incoming, key)}`;
    // What it says may be read otherwise than when it was applied first.
    const again = isReplay
      ? `on conflict (${listOf(version)}) do update set
    ${own.map((column) => `${quoted(column)} = excluded.${quoted(column)}`).join(', ')}
  where (${qualified('existing', own)}) is distinct from (${qualified('excluded', own)})`
      : 'on conflict do nothing';
    expressions.push(`${quoted(`superseded_${name}`)} as (
  insert into ${quoted(versions)} as existing (${listOf(own)})
  select ${listOf(own)}
  from ${incoming}
  where case
    when delivery_id in (select delivery_id from ${changed}) then false
    when delivery_id not in (select id from taken where applied_at is not null) then true
    else (${newest}) is distinct from delivery_id
  end
  ${again} ${isReplay ? `returning ${listOf(key)}` : ''}
)`);
    // It was superseded before the newer versions were deleted.
    if (isReplay) {
      expressions.push(`${quoted(`newest_again_${name}`)} as (
  delete from ${quoted(versions)} superseded using ${changed} where ${equal('superseded', changed, version)}
)`);
    }
  }
  return expressions.join(', ');
}

/**
 * The incoming versions of records that were not changed although nothing, or a smaller version, was there before. The
 * scalar subquery takes PostgreSQL less time to plan than an anti-join.
 */
function missingOf(family: Family): string {
  const [incoming, changed] = [quoted(`incoming_${family.name}`), quoted(`changed_${family.name}`)];
  const key = keyOf(family);
  const version = (row: string) => `${versionKeyOf(family, row)} collate "C"`;
  return `
  select from ${incoming}
  where (${qualified(incoming, key)}) not in (select ${listOf(key)} from ${changed}) and (
    select (${version(incoming)} > ${version('existing')}) is true
    from ${quoted(family.table)} existing where ${equal('existing', incoming, key)}) is distinct from false`;
}
