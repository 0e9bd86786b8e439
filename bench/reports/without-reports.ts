import type { Database } from '../../src/store/database.ts';

const indexes = `
select indexrelid::regclass as name from pg_index where pg_get_indexdef(indexrelid) like '%reporting.%'`;

/**
 * Drops what only the reports need: their indexes, and the trigger that keeps superseded versions of receipts. The views
 * remain, and are slow.
 */
export async function withoutReports({ pool }: Pick<Database, 'pool'>): Promise<void> {
  const { rows } = await pool.query<{ name: string }>(indexes);
  await pool.query(`drop index ${rows.map(({ name }) => name).join(', ')}`);
  await pool.query('drop trigger keep_superseded_receipt on receipts');
  await pool.query('alter table applied_deliveries reset (autovacuum_vacuum_insert_scale_factor)');
}
