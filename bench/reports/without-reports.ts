import { type Family, families } from '../../src/families/index.ts';
import type { Database } from '../../src/store/database.ts';

const indexes = `
select indexrelid::regclass as name from pg_index where pg_get_indexdef(indexrelid) like '%reporting.%'`;

/** The families without the versions, which only the reports read. */
export const familiesWithoutReports = families.map(({ versions, ...family }: Family): Family => family);

/** Drops the indexes of the reports. The views remain, and are slow. */
export async function withoutReports({ pool }: Pick<Database, 'pool'>): Promise<void> {
  const { rows } = await pool.query<{ name: string }>(indexes);
  await pool.query(`drop index ${rows.map(({ name }) => name).join(', ')}`);
  await pool.query('alter table applied_deliveries reset (autovacuum_vacuum_insert_scale_factor)');
}
