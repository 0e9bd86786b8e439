import { appointment } from '../families/appointment.ts';
import type { Db } from '../store/tables.ts';
import { runText } from '../store/transactions.ts';
import type { Reading } from './reader.ts';

/**
 * `differs`: in the status or a time. `busy`: a callback about it came since the platform was asked, waits to be applied, or may
 * be on its way; it is left to the next pass. `erased`: it was, and does not come back.
 */
export type Outcome = 'agrees' | 'missing' | 'differs' | 'busy' | 'erased';

export interface Compared {
  id: string;
  outcome: Outcome;
  /** The delivery of the row. */
  comparedWith: string | null;
  /** The day on which it takes place; where the platform does not tell, the first one that was asked for. */
  day: string;
  /** Milliseconds since 1970: when the row's event happened, or the missing appointment was booked. */
  at: number;
  /** The delivery without its event time, as JSON of PostgreSQL, which writes equal values in one way. */
  content: string;
}

/** Whole seconds of a time, where it is a number: callbacks have milliseconds where the platform has seconds, and no type. */
const secondsOf = (value: string) => `case when jsonb_typeof(${value}) = 'number' then
        trunc(case when abs((${value})::numeric) > 1e11 then (${value})::numeric / 1000 else (${value})::numeric end) end`;

/** A value that one side lacks is no difference. */
const differIn = (name: string) =>
  `coalesce(${secondsOf(`read->'${name}'`)} <> ${secondsOf(`a.extra->'${name}'`)}, false)`;

const isBookedAlike = `date_trunc('second', callback_time(read->'created_at')) = date_trunc('second', a.created_at)`;

/** How long the callback about a booking may take, with resends. */
const onItsWay = `interval '10 minutes'`;

// $1 the appointments, $2 the business, $3 and $4 when they were asked for: askedAt, askedSince, $5 the first day.
const statement = `
with listed as (
  select distinct on (item->>'appointment_id') item->>'appointment_id' as id, read
  from jsonb_array_elements($1::jsonb) with ordinality as items (item, place)
  -- An answer is sparse: what is empty in it says nothing.
  cross join lateral (
    select jsonb_object_agg(key, value) as read from jsonb_each(item)
    where value <> all(array['null', '""', '[]', '{}']::jsonb[])
  ) told
  order by item->>'appointment_id', place desc
), waiting as materialized (
  select thing_of(i.family, i.envelope) as id from pending_deliveries p join inbox i using (id)
  where p.family = '${appointment.name}' and i.business_id = $2 and i.event <> '${appointment.reconciledBy}'
), matched as materialized (
  select
    l.id, md5(l.id)::uuid as key, a.delivery_id as compared_with,
    a.delivery_id is null as is_missing,
    coalesce(read->>'status' <> coalesce(a.status, ''), false) or coalesce(not ${isBookedAlike}, false)
      or ${differIn('start_time')} or ${differIn('end_time')} as differs,
    l.id in (select id from waiting) or coalesce(a.received_at >= $4 or a.event_time >= $3, false)
      or a.delivery_id is null and coalesce(callback_time(read->'created_at') > $3::timestamptz - ${onItsWay}, false) as is_busy,
    coalesce(reporting.day(callback_time(read->'start_time')), $5::date) as day,
    coalesce(a.event_time, callback_time(coalesce(read->'created_at', read->'start_time'))) as at,
    jsonb_build_object(
      'event', '${appointment.reconciledBy}', 'client_id', coalesce(a.client_id, ''), 'business_id', $2::text,
      'data', jsonb_build_object('${appointment.identifiedBy}', l.id)
              || (read - case when ${isBookedAlike} then '{created_at}' else '{}' end::text[]),
      'reconciled', jsonb_build_object('compared_with', a.delivery_id)
    ) as content
  from listed l
  left join ${appointment.table} a on a.business_id = $2 and a.appointment_id = l.id
), refused as materialized (
  select refused_deliveries(array_agg(key), array_agg('${appointment.name}'::text), array_agg(content),
                            array_agg(to_jsonb(patients_beyond(content)))) as key
  from matched
  where (is_missing or differs) and exists (select from erased)
)
select
  id, day::text, compared_with as "comparedWith", coalesce(trunc(extract(epoch from at) * 1000), 0)::float8 as at, content::text,
  case
    when not is_missing and not differs then 'agrees'
    when is_busy then 'busy'
    when key in (select key from refused) then 'erased'
    when is_missing then 'missing'
    else 'differs'
  end as outcome
from matched
order by id`;

/** Compares what was read with the rows of the business. */
export const compare = (db: Db, business: string, day: string, reading: Reading): Promise<Compared[]> =>
  runText<Compared>(db, statement, [
    JSON.stringify(reading.appointments),
    business,
    reading.askedAt,
    reading.askedSince,
    day,
  ]);
