/**
 * A common table expression for every statement that stores or applies deliveries. It has no rows and is not used: PostgreSQL
 * locks the tables of a whole statement before it takes the snapshot, so such a statement and an erasure, which locks `erased`
 * exclusively, wait for each other and see each other's changes.
 */
export const erasureGate = 'gate as (select from erased where false for share)';
