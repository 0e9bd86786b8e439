import type { Family } from '../../src/families/index.ts';
import { type ExportedRow, withPatient } from '../../src/privacy/export.ts';
import type { Patient } from '../../src/privacy/find-deliveries.ts';
import type { TestDatabase } from './database.ts';

/** Everything that is held about a patient: rows by table. */
export const readPatient = (
  { db }: Pick<TestDatabase, 'db'>,
  families: readonly Family[],
  patient: Patient,
) =>
  withPatient(db, families, patient, async ({ counts, read }) => {
    const data: Record<string, ExportedRow[]> = {};
    for (const table of Object.keys(counts)) {
      const rows: ExportedRow[] = [];
      for await (const part of read(table)) rows.push(...part);
      data[table] = rows;
    }
    return { counts, data };
  });
