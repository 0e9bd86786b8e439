import { sql } from 'kysely';

/** A query for every business that has sent something, by the index of the inbox. */
export const businesses = sql<string>`(
  with recursive known as (
    (select business_id from receiver.inbox order by 1 limit 1)
    union all
    select (select i.business_id from receiver.inbox i where i.business_id > known.business_id order by 1 limit 1)
    from known where business_id is not null
  )
  select business_id from known where business_id is not null)`;
