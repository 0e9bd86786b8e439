import type { Database } from '../../src/store/database.ts';

const indexes = `
select indexrelid::regclass as name from pg_index where pg_get_indexdef(indexrelid) like '%reporting.%'`;

/** Takes out what the reports cost the intake: every index of theirs. The views stay, and are slow. */
export async function withoutReports({ pool }: Pick<Database, 'pool'>): Promise<void> {
  const { rows } = await pool.query<{ name: string }>(indexes);
  await pool.query(`drop index ${rows.map(({ name }) => name).join(', ')}`);
  await pool.query('alter table deliveries reset (autovacuum_vacuum_insert_scale_factor)');
}
