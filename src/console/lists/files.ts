import { csvWriter } from '../../common/csv.ts';
import { words } from '../../common/words.ts';
import type { ViewColumn } from '../../receiver/store/view-columns.ts';
import { type Aliases, isAliasKind } from '../../reconcile/aliases.ts';
import { columnsOf, fileColumnsOf, type ListQuery, type ListRow } from './query.ts';
import { describeDays } from './ranges.ts';
import { writeXlsx } from './xlsx.ts';

type Rows = AsyncIterable<ListRow>;
type Writer = NodeJS.ReadWriteStream | ((rows: Rows) => AsyncIterable<Uint8Array>);

interface Format {
  label: string;
  type: string;
  columns: (query: ListQuery) => ViewColumn[];
  writer: (columns: readonly ViewColumn[], sheet: string, aliases: Aliases) => Writer;
}

export function describeSelection({ list, entered, from, to }: ListQuery, aliases: Aliases): string {
  const { business, clinic, doctor } = entered;
  const names = Object.entries({ business, clinic, doctor }).map(
    ([kind, id]) => id && (aliases[kind as 'clinic'].get(id) ?? id),
  );
  const titles = Object.entries(list.choices).map(([name, choices]) => choices[entered[name] ?? '']);
  const texts = Object.entries(list.given ?? {}).map(
    ([name, { label, shown }]) => entered[name] && (label ? `${label}: ${entered[name]}` : shown),
  );
  return [list.title, describeDays(from, to), ...names, ...titles, ...texts].filter(Boolean).join(' · ');
}

/** A name for each selection of days, without an ending: receipts_personal_2026-03-01_2026-03-31. */
export const fileNameOf = ({ list, from, to, isPersonal }: ListQuery): string =>
  [list.name, isPersonal && 'personal', from, to].filter(Boolean).join('_');

async function* addNames(rows: Rows, columns: readonly ViewColumn[], aliases: Aliases) {
  for await (const row of rows) {
    const named = columns.flatMap(({ name, kind }) => {
      const id = row[name];
      if (!id) return [];
      if (kind === 'state' || kind === 'code') return [[name, words(id)]];
      return isAliasKind(kind) ? [[name, aliases[kind].get(id) ?? id]] : [];
    });
    yield { ...row, ...Object.fromEntries(named) };
  }
}

export type FormatName = 'xlsx' | 'csv';

/** Each by the ending of its files. Excel has the columns of the page; programs read the CSV, which has more. */
export const formats: Readonly<Record<FormatName, Format>> = {
  xlsx: {
    label: 'Excel',
    type: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    columns: columnsOf,
    writer: (columns, sheet, aliases) => (rows) =>
      writeXlsx(sheet, columns, addNames(rows, columns, aliases)),
  },
  csv: {
    label: 'CSV for programs',
    type: 'text/csv; charset=utf-8; header=present',
    columns: fileColumnsOf,
    writer: (columns) => csvWriter(columns.map(({ name }) => name)),
  },
};
export const formatNames: readonly FormatName[] = ['xlsx', 'csv'];
