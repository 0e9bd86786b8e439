import { Duplex } from 'node:stream';
import { csvWriter } from '../../common/csv.ts';
import { formatDay } from '../../common/days.ts';
import { formatMoment } from '../../common/local-times.ts';
import { formatCount, words } from '../../common/words.ts';
import { type Aliases, isAliasKind } from '../../reconcile/aliases.ts';
import { titleOf } from './definitions.ts';
import type { ReportRequest } from './form.ts';
import type { ReportRow } from './queries.ts';
import {
  aliasKindOf,
  isAmount,
  isNumeric,
  isSummable,
  labelOfColumn,
  type ReportColumn,
  type TypedColumn,
} from './report-columns.ts';
import { type CellKind, type XlsxColumn, xlsxWriter } from './xlsx.ts';

/** A column of a file: its name for programs, its title for people. */
interface FileColumn extends ReportColumn {
  title: string;
  summed: boolean;
}

/** A file without its rows. */
export interface FileContent {
  title: string;
  columns: readonly FileColumn[];
  aliases: Aliases | undefined;
  about: readonly (readonly [name: string, text: string])[];
}

interface Format {
  label: string;
  type: string;
  /** The stages between the rows and the response. */
  write: (content: FileContent) => Duplex[];
}

/** A name for each selection of days, without an ending: receipts_personal_2026-03-01_2026-03-31. */
export const fileNameOf = ({ report, filter, hasDays }: ReportRequest, revealed: boolean): string =>
  [report.view, revealed && 'personal', ...(hasDays ? [filter.from, filter.to] : [])]
    .filter(Boolean)
    .join('_');

interface Around {
  comment: string | undefined;
  revealed: boolean;
  rows: number;
  aliases: Aliases | undefined;
  timezone: string;
}

/** The columns of a file, and the lines that say which rows it has, as of when. */
export function describeFile(request: ReportRequest, around: Around): FileContent {
  const { report, columns, filter, hasDays, entered, fields } = request;
  const { comment, revealed, rows, aliases, timezone } = around;
  const title = titleOf(report);
  const { from, to } = filter;
  const days = [from ? formatDay(from) : 'the first', to ? formatDay(to) : 'the last'].join(' to ');
  const nameOf = (name: string, value: string) =>
    isAliasKind(name) && aliases?.[name].has(value) ? `${aliases[name].get(value)} (${value})` : words(value);
  // The days have a line of their own.
  const chosen = fields.flatMap(({ name, label }) => {
    const value = entered[name];
    return value && !['from', 'to'].includes(name) ? [[label, nameOf(name, value)] as const] : [];
  });
  return {
    title,
    aliases,
    columns: columns.map((column) => ({
      ...column,
      title: labelOfColumn(report, column.name),
      summed: !report.withoutTotals && isSummable(column),
    })),
    about: [
      ['Report', title],
      ['Contents', comment ?? ''],
      ...(hasDays ? [['Days', from || to ? days : 'all'] as const] : []),
      ...chosen,
      ['Rows', formatCount(rows)],
      ['Personal data', revealed ? 'included' : 'left out'],
      ['Made at', `${formatMoment(new Date(), timezone)}, as all times in ${timezone}`],
      ['Amounts', 'INR'],
    ],
  };
}

/** The columns with ids of businesses, clinics and doctors, each with the column of their aliases if its kind has some. */
const aliasesOf = (columns: readonly TypedColumn[], aliases: Aliases | undefined) =>
  columns.flatMap(({ name: id }) => {
    const kind = aliasKindOf(id);
    return kind && aliases?.[kind].size
      ? [{ id, names: aliases[kind], name: `${id.replace(/_id$/, '')}_alias` }]
      : [];
  });

const addAliases = ({ columns, aliases }: FileContent) =>
  Duplex.from(async function* (rows: AsyncIterable<ReportRow>) {
    const added = aliasesOf(columns, aliases);
    for await (const row of rows) {
      const values = added.map(({ id, names, name }) => [name, names.get(row[id] ?? '') ?? null]);
      yield { ...row, ...Object.fromEntries(values) };
    }
  });

const cellKinds: Record<string, CellKind> = {
  boolean: 'boolean',
  date: 'date',
  interval: 'duration',
  'timestamp with time zone': 'moment',
};

function cellKindOf(column: TypedColumn): CellKind {
  if (/_share$/.test(column.name)) return 'share';
  return cellKinds[column.type] ?? (isAmount(column) ? 'amount' : isNumeric(column) ? 'number' : 'text');
}

/** The columns of a spreadsheet: a name stands before its id. */
const cellsOf = ({ columns, aliases }: FileContent): XlsxColumn[] =>
  columns.flatMap((column) => [
    ...aliasesOf([column], aliases).map(({ name }) => ({ name, title: column.title, kind: 'text' as const })),
    { ...column, title: titleOfCell(column), kind: cellKindOf(column) },
  ]);

const titleOfCell = ({ name, title }: FileColumn) => (aliasKindOf(name) ? `${title} id` : title);

export type FormatName = 'xlsx' | 'csv';

/** Each by the ending of its files. Machines read the CSV: it has the view's columns, then the aliases of each kind that has some. */
export const formats: Readonly<Record<FormatName, Format>> = {
  xlsx: {
    label: 'Excel',
    type: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    write: (content) => {
      const meanings = content.columns.flatMap((column) =>
        column.comment ? [[titleOfCell(column), column.comment] as const] : [],
      );
      const about = [...content.about, ['', ''] as const, ...meanings];
      return [addAliases(content), xlsxWriter({ title: content.title, about, columns: cellsOf(content) })];
    },
  },
  csv: {
    label: 'CSV',
    type: 'text/csv; charset=utf-8; header=present',
    write: (content) => {
      const columns = [...content.columns, ...aliasesOf(content.columns, content.aliases)];
      return [addAliases(content), csvWriter(columns.map(({ name }) => name))];
    },
  },
};
export const formatNames: readonly FormatName[] = ['xlsx', 'csv'];
