/**
 * A common table expression for every statement that stores or applies deliveries. It has no rows and is not used: PostgreSQL
 * locks the tables of a whole statement before it takes the snapshot, so such a statement and an erasure, which locks `erased`
 * exclusively, wait for each other and see each other's changes.
 */
export const erasureGate = 'gate as (select from erased where false for share)';

/**
 * The common table expressions of a statement that stores something: `refused` contains the ids of the rows about something
 * that was erased. They cost nothing until something was.
 *
 * @param rows the common table expression of the rows, with `id`, `family`, `envelope` and `patients`: the ids of all patients
 *   that it names as a list of JSON, or null where patient_of tells all there is
 * @param envelope SQL for their envelopes with the event time that they are judged by
 */
export const refusedAmong = (
  rows: string,
  envelope = 'envelope',
): string => `${erasureGate}, refused as materialized (
  select refused_deliveries(array_agg(id), array_agg(family), array_agg(${envelope}), array_agg(patients)) as id
  from ${rows}
  where exists (select from erased)
)`;

/**
 * The common table expressions that keep bodies with the id of an erased patient as a word from the table of the statement:
 * a person decides about each. They follow `refused`; a row of the table itself stays. `uncertain` contains the ids.
 *
 * @param rows as for `refusedAmong`, with `words`: those of the body as a list of JSON, or null
 * @param table the table of the statement: inbox or quarantine
 * @param columns SQL for the columns `event`, `event_time` and `content` of uncertain_bodies
 */
export const uncertainAmong = (
  rows: string,
  table: 'inbox' | 'quarantine',
  { event, eventTime, content }: { event: string; eventTime: string; content: string },
): string => `uncertain as materialized (
  select (found).id, (found).erasure_id
  from (
    select uncertain_among(array_agg(id), array_agg(coalesce(envelope->>'business_id', '')),
                           array_agg(${eventTime}), array_agg(words)) as found
    from ${rows}
    where words is not null and exists (select from erased_words) and id not in (select id from refused)
      and not exists (select from ${table} existing where existing.id = ${rows}.id)
  ) checked
), left_to_a_person as (
  insert into uncertain_bodies (id, source, erasure_id, business_id, event, event_time, received_at, content)
  select distinct on (id) id, '${table}', erasure_id, coalesce(envelope->>'business_id', ''), ${event},
         ${eventTime}, now(), ${content}
  from uncertain join ${rows} using (id)
  order by id
  on conflict do nothing
)`;

/** The common table expression that makes the words of stored bodies an index. `stored`: the ids. */
export const wordsOfStored = (rows: string): string => `searchable as (
  insert into body_words (id, words)
  select distinct on (id) id, word_keys(words) from ${rows}
  where words is not null and id in (select id from stored)
  order by id
  on conflict (id) do nothing
)`;
