import { type Family, families } from '../../src/families/index.ts';
import type { Database } from '../../src/store/database.ts';

const indexes = `
select indexrelid::regclass as name from pg_index where pg_get_indexdef(indexrelid) like '%reporting.%'`;

/** The families without what is kept for the reports alone. */
export const familiesWithoutReports = families.map(({ versions, ...family }: Family): Family => family);

/** Takes the indexes of the reports out of a database. The views stay, and are slow. */
export async function withoutReports({ pool }: Pick<Database, 'pool'>): Promise<void> {
  const { rows } = await pool.query<{ name: string }>(indexes);
  await pool.query(`drop index ${rows.map(({ name }) => name).join(', ')}`);
  await pool.query('alter table deliveries reset (autovacuum_vacuum_insert_scale_factor)');
}
