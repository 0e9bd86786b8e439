import type { Db } from '../../store/tables.ts';
import { mostGroupsOfFile, readGroups } from '../groups.ts';
import { type GroupRow, tableOf } from '../groups-table.ts';
import type { FileQuestion } from './file-content.ts';

/** The table of groups, or of the comparison, as a file has it; undefined: there is none, or too many rows to sum. */
export async function readGroupsFile(db: Db, question: FileQuestion) {
  const { grouped } = question;
  if (!grouped.group && !grouped.earlier) return undefined;
  const groups = await readGroups(db, question, grouped, mostGroupsOfFile);
  if (groups.isCut || groups.count > mostGroupsOfFile) return undefined;
  const { lead, columns, rows } = tableOf(question, grouped, groups);
  return {
    columns: [lead, ...columns],
    rows: rows.map(({ label, values }: GroupRow) => ({ [lead.name]: label, ...values })),
    of: groups.of,
  };
}
