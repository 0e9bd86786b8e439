import type pg from 'pg';
import type { RecordKey } from '../callbacks/delivery.ts';
import { type Family, hasPersonalKey } from '../callbacks/families/family.ts';
import { keyText, unfitMark } from '../callbacks/families/field.ts';
import { hashedPrefix } from '../callbacks/reduce.ts';
import { patientIdOf, recordSubject } from '../callbacks/subjects.ts';
import { uuid } from '../common/words.ts';
import type { Core } from '../receiver/feature.ts';
import { readOwners } from '../receiver/gate/owners.ts';
import { firstOf, isRowOf, tableOf } from '../receiver/store/columns.ts';
import { inTransaction, snapshot } from '../receiver/store/pools.ts';
import { keysOf } from '../receiver/store/statements/merge-records.ts';

export interface FamilyRecord {
  family: Family;
  businessId: string;
  recordId: string;
}

/** A row with every value as text. */
export type Row = Readonly<Record<string, string | null>>;

export interface Version {
  id: string;
  event: string;
  eventTime: Date;
  receivedAt: Date;
  /** The fields that it gave another value. */
  changed: string[];
  isReduced: boolean;
  status: 'applied' | 'received' | 'failed';
  error: string | null;
}

export interface RecordPage {
  /** Undefined: none of its callbacks was applied yet. */
  row: Row | undefined;
  name: string | null;
  /** The platform's id of its patient. */
  patient: string | null;
  /** Newest first. */
  versions: Version[];
  isComplete: boolean;
  /** Records that it refers to, that refer to it, or that refer to what it refers to: those of the same visit. */
  related: RelatedRecord[];
  /** See `patientsOf`. */
  subjects: string[];
}

export interface RelatedRecord extends FamilyRecord {
  /** For its address, see `findRecord`. */
  id: string;
  row: Row | null;
}

const maxRelated = 50;
const first = `${snapshot}; set local statement_timeout = 5000`;

/** The key of a family's records may stand in an address; else the id of a delivery does. */
export const hasPublicKey = (family: Family): boolean => family.key !== undefined && !hasPersonalKey(family);

/** The record of an address. @param id of a delivery about it, or its public key */
export async function findRecord(
  { db, families }: Core,
  name: string,
  businessId: string,
  id: string,
): Promise<FamilyRecord | undefined> {
  const family = families.find((family) => family.name === name);
  if (!family) return undefined;
  const record = uuid.test(id)
    ? await db
        .selectFrom('receiver.inbox')
        .select(['business_id as businessId', 'record_id as recordId'])
        .where('id', '=', id)
        .where('family', '=', name)
        .executeTakeFirst()
    : undefined;
  if (record) return { family, ...record };
  const recordId = hasPublicKey(family) ? keyText(family.fields[family.key!]!, id) : undefined;
  return recordId === undefined ? undefined : { family, businessId, recordId };
}

/** A record's row, and the callbacks that it was made of. @returns undefined: there are none */
export async function readRecord(
  { pool, families }: Core,
  key: FamilyRecord,
  maxVersions = 200,
): Promise<RecordPage | undefined> {
  const { family, businessId, recordId } = key;
  const values = [businessId, family.name, recordId];
  return inTransaction(pool, first, async (client) => {
    const { rows: versions } = await client.query<Version>(versionsOf, [...values, maxVersions + 1]);
    if (versions.length === 0) return undefined;
    const record = { ...key, family: family.name };
    const [current] = await readRows(client, [family], [record]);
    const { row, name, patient } = current!;
    const related = await readRelated(client, families, key);
    return {
      row: row ?? undefined,
      name: name ?? (await nameOnReceipt(client, businessId, patient)),
      patient,
      versions: versions.slice(0, maxVersions),
      isComplete: versions.length <= maxVersions,
      related,
      subjects: await patientsOf(client, [record]),
    };
  });
}

/** An appointment has only the id of its patient. */
async function nameOnReceipt(
  client: pg.ClientBase,
  businessId: string,
  patient: string | null,
): Promise<string | null> {
  const { rows } = await client.query<{ name: string }>(
    `select name from public.receipts where business_id = $1 and patient_oid = $2 and name <> ''
     order by created_at desc nulls last limit 1`,
    [businessId, patient],
  );
  return rows[0]?.name ?? null;
}

/** The events of callbacks, and whose their records are. */
export async function describeCallbacks({ pool, families }: Core, ids: readonly string[]) {
  return inTransaction(pool, first, async (client) => {
    const { rows } = await client.query<{ id: string; event: string } & RecordKey>(
      `select id, event, family, business_id as "businessId", record_id as "recordId" from receiver.inbox where id = any($1)`,
      [ids],
    );
    const read = await readRows(client, families, rows);
    const texts = new Map(
      read.map(({ record: { id, event }, name }) => [id, [event, name].filter(Boolean).join(', ')]),
    );
    return { texts, subjects: await patientsOf(client, rows) };
  });
}

/** SQL for columns with whom a row `t` names. */
export function peopleIn(family: Family): string {
  const { names = [], phones = [] } = family.people ?? {};
  const patients = [patientIdOf(family) ?? []].flat();
  return `${firstOf(names)} as name, ${firstOf(phones)} as phone, ${firstOf(patients)} as patient`;
}

type RowWithPeople = { row: Row | null } & Record<'name' | 'phone' | 'patient', string | null>;

/** The rows of the records of these families, in their order, with whom they name; null where there is no row. */
async function readRows<Key extends RecordKey>(
  client: pg.ClientBase,
  families: readonly Family[],
  records: readonly Key[],
) {
  const read: (RowWithPeople & { record: Key; family: Family })[] = [];
  for (const family of families) {
    const own = records.filter((record) => record.family === family.name);
    if (own.length === 0) continue;
    const { rows } = await client.query<RowWithPeople>(
      `select (select json_object_agg(key, value) from jsonb_each_text(to_jsonb(t))) as row, ${peopleIn(family)}
       from unnest($1::text[], $2::text[]) with ordinality k(business_id, record_id, n)
       left join ${tableOf(family)} t on ${isRowOf(family)} order by n`,
      keysOf(own),
    );
    for (const [n, row] of rows.entries()) read.push({ ...row, record: own[n]!, family });
  }
  return read;
}

/** The subjects, hashed already, of the patients to whom the callbacks of records belong. */
export async function patientsOf(client: pg.ClientBase, records: readonly RecordKey[]): Promise<string[]> {
  const owners = await readOwners(client, records);
  return [...new Set(owners.flat())].map((hash) => hashedPrefix + hash);
}

// The row has no data of callbacks that wait.
const versionsOf = `
with versions as (
  select i.id, i.event, i.event_time, i.received_at, i.version, coalesce(i.data, i.envelope->'data') as data,
         'reduced' = any(i.subjects) as is_reduced, p.id is null as is_applied, p.next_at = 'infinity' as is_failed, p.error
  from receiver.inbox i left join receiver.pending_deliveries p using (id)
  where i.business_id = $1 and i.family = $2 and i.record_id = $3
), fields as (
  select id, ltrim(key, '${unfitMark}') as key,
         is_applied and coalesce(lag(value) over (partition by key, is_applied order by version), 'null') <> value as is_changed
  from versions cross join jsonb_each(data)
), keys as (
  select id, array_agg(key order by key) filter (where is_changed) as changed
  from fields group by id
)
select id, event, event_time as "eventTime", received_at as "receivedAt", is_reduced as "isReduced", error,
       case when is_applied then 'applied' when is_failed then 'failed' else 'received' end as status,
       coalesce(changed, '{}') as changed
from versions left join keys using (id) order by version desc limit $4`;

async function readRelated(
  client: pg.ClientBase,
  families: readonly Family[],
  { family, businessId, recordId }: FamilyRecord,
): Promise<RelatedRecord[]> {
  const own = recordSubject(family.name, businessId, recordId);
  const values = [businessId, family.name, recordId, own, maxRelated];
  const { rows } = await client.query<RecordKey & { delivery: string }>(relatedTo, values);
  const read = await readRows(client, families, rows);
  return read.map(({ record: { delivery, ...key }, family: of, row }) => {
    return { ...key, family: of, id: hasPublicKey(of) ? key.recordId : delivery, row };
  });
}

const relatedTo = `
with referred as materialized (
  select distinct s from receiver.inbox, unnest(subjects) s
  where business_id = $1 and family = $2 and record_id = $3 and s like 'r:%' limit $5
), related as (
  select family, business_id, record_id, id from receiver.callbacks_with((select coalesce(array_agg(s), '{}') from referred) || array[$4::text])
  union all
  select i.family, i.business_id, i.record_id, i.id
  from (select *, string_to_array(s, ':') as parts from referred) r
  join receiver.inbox i on i.business_id = $1 and i.family = r.parts[2]
    and i.record_id = substr(s, length('r:' || r.parts[2] || ':' || $1 || ':') + 1)
)
select distinct on (family, business_id, record_id) family, business_id as "businessId", record_id as "recordId", id as delivery
from related where (business_id, family, record_id) <> ($1, $2, $3) order by family, business_id, record_id limit $5`;
