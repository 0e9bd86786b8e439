import { sql } from 'kysely';
import { type Family, publicKey } from '../families/index.ts';
import { isAbout, patientsOfRow } from '../privacy/find-deliveries.ts';
import { redactRow } from '../privacy/redact.ts';
import { read } from '../store/read.ts';
import type { Db } from '../store/tables.ts';
import { type RecordKey, readRows, type Version } from './record.ts';

export interface Related {
  family: Family;
  id: string;
  /** Without personal data. */
  row: Version['row'];
}

const mostRelated = 100;

/** The ids by which a callback, `i` with the data `d`, names a visit: an appointment, a prescription or an admission. */
const names = sql`array(
  select name #>> '{}'
  from unnest('{aid,appointment_id,partner_appointment_id,prescription_id,rx_id,prev_aids,next_aid,admission_id}'::text[]) as key,
       jsonb_path_query(d -> key, '$[*]') as name
  where jsonb_typeof(name) in ('string', 'number') and name #>> '{}' <> ''
  union all
  select admission
  from unnest(array[admission_of(i.envelope->>'transaction_id'), case i.family when 'admission' then d->>'id' end]) as admission
  where admission <> ''
)`;

/**
 * What belongs to a record: the whole and its parts; and what of the same patient names the same visit, also by another
 * record, such as a receipt and the prescription of one appointment, or a receipt whose `transaction_id` names an admission.
 * Without personal data.
 */
export async function readRelated(
  db: Db,
  families: readonly Family[],
  { family, business, id }: RecordKey,
  row: Version['row'],
): Promise<Related[]> {
  const whole = family.partOf ?? family.name;
  const wholeId = family.partOf ? row[`${family.partOf}_id`] : id;
  const parts = families.flatMap(({ name, table, partOf, identifiedBy }) =>
    partOf === whole && identifiedBy
      ? sql`select ${name} as family, ${sql.ref(identifiedBy)}::text as id from ${sql.table(table)}
            where business_id = ${business} and ${sql.ref(`${partOf}_id`)} = ${wholeId}`
      : [],
  );
  const [patient] = patientsOfRow(row);
  // The id of another's deliveries is that of the whole, or personal.
  const linkable = families.filter((one) => !one.partOf && (publicKey(one) || !one.identifiedBy));
  const query = sql<{ family: string; id: string }>`
    with mine as materialized (
      select i.family, coalesce(thing_of(i.family, i.envelope), i.id::text) as id, ${names} as names
      from inbox i cross join lateral (select i.envelope -> 'data' as d) as data
      where ${isAbout(sql`${patient ?? ''}::text`)} and i.business_id = ${business}
        and i.family = any(${linkable.map(({ name }) => name)}::text[])
    ), own as materialized (
      select array_agg(name) as names from mine, unnest(mine.names) as name where family = ${family.name} and id = ${id}
    ), near as materialized (
      select array_agg(distinct name) as names from mine, own, unnest(mine.names) as name where mine.names && own.names
    ), found as (
      ${sql.join([...parts, sql`select family, id from mine, near where mine.names && near.names`], sql` union `)}
      union select ${whole}, ${wholeId ?? ''} where ${parts.length > 0}
    )
    select family, id from found where (family, id) <> (${family.name}, ${id}) order by family, id limit ${mostRelated}`;
  const found = await read(db, query);
  const related = families.map(async (one) => {
    const ids = found.flatMap((record) => (record.family === one.name ? record.id : []));
    const rows = ids.length > 0 ? await readRows(db, one, business, ids) : [];
    return rows.map((newest) => ({
      family: one,
      id: (one.identifiedBy ? newest.row[one.identifiedBy] : newest.row.delivery_id)!,
      row: redactRow(newest.row, one),
    }));
  });
  return (await Promise.all(related)).flat();
}
