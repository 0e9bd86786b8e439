import type { NamedColumn } from './columns.ts';
import { labelOfColumn } from './labels.ts';
import { type Report, titleOf } from './report.ts';

/** A report that has every word in its title, its line or its columns, with those of its columns that have one. */
export function findIn(report: Report, columns: readonly NamedColumn[], q = '') {
  const wanted = q.toLowerCase().split(/\s+/).filter(Boolean);
  const itself = `${titleOf(report)} ${report.line}`.toLowerCase();
  const own = columns
    .filter(({ view }) => view === (report.rowsOf ?? report.view))
    .map(({ name, comment }) => {
      const label = labelOfColumn(report, name);
      return { label, text: `${label} ${name} ${comment}`.toLowerCase() };
    });
  const isFound = wanted.every(
    (word) => itself.includes(word) || own.some(({ text }) => text.includes(word)),
  );
  if (!isFound) return undefined;
  const missing = wanted.filter((word) => !itself.includes(word));
  return {
    report,
    matches: own.flatMap(({ label, text }) => (missing.some((word) => text.includes(word)) ? label : [])),
  };
}
