import { Duplex } from 'node:stream';
import { csvWriter } from '../../common/csv.ts';
import { formatMoment } from '../../common/local-times.ts';
import { formatCount, words } from '../../common/words.ts';
import type { ColumnKind, ViewColumn } from '../../receiver/store/view-columns.ts';
import { type Aliases, isAliasKind } from '../../reconcile/aliases.ts';
import { columnsOf, fileColumnsOf, type ListQuery, type ListRow } from './query.ts';
import { describeDays } from './ranges.ts';
import { type CellKind, type XlsxColumn, xlsxWriter } from './xlsx.ts';

interface File {
  query: ListQuery;
  aliases: Aliases;
  timezone: string;
}

interface Format {
  label: string;
  type: string;
  columns: (query: ListQuery) => ViewColumn[];
  write: (file: File, rows: number) => Duplex[];
}

/** What is selected, in words. */
export function describeSelection({ list, filter }: ListQuery, aliases: Aliases): string {
  const { from, to, business, clinic, doctor, age, state, chosen = {} } = filter;
  const names = Object.entries({ business, clinic, doctor }).map(
    ([kind, id]) => id && (aliases[kind as 'clinic'].get(id) ?? id),
  );
  const titles = Object.entries(chosen).map(([name, value]) => list.choices[name]![value!]);
  const all = [...names, age && `${words(age)} days`, state && words(state), ...titles];
  return [list.title, describeDays(from, to), ...all.filter(Boolean)].join(' · ');
}

/** A name for each selection of days, without an ending: receipts_personal_2026-03-01_2026-03-31. */
export const fileNameOf = ({ list, filter, isPersonal }: ListQuery): string =>
  [list.name, isPersonal && 'personal', filter.from, filter.to].filter(Boolean).join('_');

const nameColumns = (columns: readonly ViewColumn[]) =>
  columns.flatMap(({ name, kind }) =>
    isAliasKind(kind) ? [{ id: name, kind, name: `${name.replace(/_id$/, '')}_alias` }] : [],
  );

/** Adds the name of each business, clinic and doctor. */
const addNames = (columns: readonly ViewColumn[], aliases: Aliases) =>
  Duplex.from(async function* (rows: AsyncIterable<ListRow>) {
    const added = nameColumns(columns);
    for await (const row of rows) {
      const names = added.map(({ id, kind, name }) => [name, aliases[kind].get(row[id] ?? '') ?? null]);
      yield { ...row, ...Object.fromEntries(names) };
    }
  });

const cellKinds: Partial<Record<ColumnKind, CellKind>> = {
  amount: 'amount',
  day: 'date',
  moment: 'moment',
  count: 'number',
  figure: 'number',
};
const widths: Partial<Record<ColumnKind, number>> = {
  moment: 22,
  day: 13,
  amount: 16,
  person: 28,
  phone: 18,
};

/** For people: names instead of ids, where they have one. */
const cellsOf = (columns: readonly ViewColumn[]): XlsxColumn[] =>
  columns.map(({ name, label, kind, summed }) => ({
    name,
    title: label,
    kind: cellKinds[kind] ?? 'text',
    summed,
    width: widths[kind] ?? (isAliasKind(kind) ? 24 : 14),
  }));

const withNames = (columns: readonly ViewColumn[], aliases: Aliases) =>
  Duplex.from(async function* (rows: AsyncIterable<ListRow>) {
    for await (const row of rows) {
      const named = columns.flatMap(({ name, kind }) => {
        const id = row[name];
        if (!id) return [];
        if (kind === 'state' || kind === 'code') return [[name, words(id)]];
        return isAliasKind(kind) ? [[name, aliases[kind].get(id) ?? id]] : [];
      });
      yield { ...row, ...Object.fromEntries(named) };
    }
  });

const aboutOf = ({ query, aliases, timezone }: File, rows: number): [string, string][] => [
  ['List', describeSelection(query, aliases)],
  ['Rows', formatCount(rows)],
  ['Names and phones', query.isPersonal ? 'included' : 'left out'],
  ['Made at', `${formatMoment(new Date(), timezone)}, as all times in ${timezone}`],
  ['Amounts', 'In rupees (INR)'],
  ...(query.list.unsummed
    ? [['Totals', `Without ${query.list.unsummed} receipts: their amounts are texts`] as [string, string]]
    : []),
];

export type FormatName = 'xlsx' | 'csv';

/** Each by the ending of its files. Excel has the columns of the page; programs read the CSV, which has more. */
export const formats: Readonly<Record<FormatName, Format>> = {
  xlsx: {
    label: 'Excel',
    type: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    columns: columnsOf,
    write: (file, rows) => {
      const columns = columnsOf(file.query);
      const { title } = file.query.list;
      const workbook = { title, about: aboutOf(file, rows), columns: cellsOf(columns) };
      return [withNames(columns, file.aliases), xlsxWriter(workbook)];
    },
  },
  csv: {
    label: 'CSV for programs',
    type: 'text/csv; charset=utf-8; header=present',
    columns: fileColumnsOf,
    write: ({ query, aliases }) => {
      const columns = fileColumnsOf(query);
      const names = [...columns, ...nameColumns(columns)].map(({ name }) => name);
      return [addNames(columns, aliases), csvWriter(names)];
    },
  },
};
export const formatNames: readonly FormatName[] = ['xlsx', 'csv'];
