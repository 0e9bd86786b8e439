/** What happened to a record: its row has changed, or went with the retention or an erasure. */
export type ChangeKind = 'changed' | 'deleted' | 'erased';

/** Whether the feed of changes is open: SQL. */
export const isFeedOpen = 'exists (select from change_feed)';

/**
 * The statement that records changes for the feed, in the transaction that makes them; a common table expression, where
 * another statement makes them. It writes nothing unless the feed is open.
 *
 * @param rows the query for the changed records: `family`, `business_id` and `id`, as text
 */
export const recordChanges = (kind: ChangeKind, rows: string): string => `
  insert into changed_records (kind, families, business_ids, ids)
  select '${kind}', array_agg(family), array_agg(business_id), array_agg(id)
  from (${rows}) as records
  where ${isFeedOpen}
  having count(*) > 0`;
