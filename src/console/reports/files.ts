import { Duplex } from 'node:stream';
import { csvWriter } from '../../common/csv.ts';
import { formatDay } from '../../common/days.ts';
import { formatMoment } from '../../common/local-times.ts';
import { formatCount, words } from '../../common/words.ts';
import { type Aliases, isAliasKind } from '../../reconcile/aliases.ts';
import { type Report, titleOf } from './definitions.ts';
import type { ReportRequest } from './form.ts';
import type { ReportRow } from './queries.ts';
import {
  aliasKindOf,
  isAmount,
  isNumeric,
  isSummable,
  labelOfColumn,
  type TypedColumn,
} from './report-columns.ts';
import { type CellKind, type XlsxColumn, xlsxWriter } from './xlsx.ts';

export interface FileContent {
  request: ReportRequest;
  aliases: Aliases | undefined;
  about: readonly (readonly [name: string, text: string])[];
}

interface Format {
  label: string;
  type: string;
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

/** The days and filters of a report, each with its label. */
export function describeSelection(
  { filter, hasDays, entered, fields }: ReportRequest,
  aliases: Aliases | undefined,
): (readonly [label: string, text: string])[] {
  const { from, to } = filter;
  const days = [from ? formatDay(from) : 'the first', to ? formatDay(to) : 'the last'].join(' to ');
  const nameOf = (name: string, value: string) =>
    isAliasKind(name) && aliases?.[name].has(value) ? `${aliases[name].get(value)} (${value})` : words(value);
  // The days have a line of their own.
  const chosen = fields.flatMap(({ name, label }) => {
    const value = entered[name];
    return value && !['from', 'to'].includes(name) ? [[label, nameOf(name, value)] as const] : [];
  });
  return [...(hasDays ? [['Days', from || to ? days : 'all'] as const] : []), ...chosen];
}

export function describeFile(request: ReportRequest, around: Around): FileContent {
  const { report } = request;
  const { comment, revealed, rows, aliases, timezone } = around;
  return {
    request,
    aliases,
    about: [
      ['Report', titleOf(report)],
      ['Contents', comment ?? ''],
      ...describeSelection(request, aliases),
      ['Rows', formatCount(rows)],
      ['Personal data', revealed ? 'included' : 'left out'],
      ['Made at', `${formatMoment(new Date(), timezone)}, as all times in ${timezone}`],
      ['Amounts', 'INR'],
      ...(report.summed
        ? [
            [
              'Totals',
              `Without receipts that are ${report.summed.others}: their amounts are texts in Excel`,
            ] as const,
          ]
        : []),
    ],
  };
}

const aliasesOf = (columns: readonly TypedColumn[], aliases: Aliases | undefined) =>
  columns.flatMap(({ name: id }) => {
    const kind = aliasKindOf(id);
    return kind && aliases?.[kind].size
      ? [{ id, names: aliases[kind], name: `${id.replace(/_id$/, '')}_alias` }]
      : [];
  });

const addAliases = ({ request, aliases }: FileContent) =>
  Duplex.from(async function* (rows: AsyncIterable<ReportRow>) {
    const added = aliasesOf(request.columns, aliases);
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

const titleOfCell = (report: Report, { name }: TypedColumn) =>
  aliasKindOf(name) ? `${labelOfColumn(report, name)} id` : labelOfColumn(report, name);

/** The columns of a spreadsheet: a name stands before its id. */
const cellsOf = ({ request: { report, columns }, aliases }: FileContent): XlsxColumn[] =>
  columns.flatMap((column) => [
    ...aliasesOf([column], aliases).map(({ name }): XlsxColumn => {
      return { name, title: labelOfColumn(report, column.name), kind: 'text', summed: false };
    }),
    {
      name: column.name,
      title: titleOfCell(report, column),
      kind: cellKindOf(column),
      summed: !report.withoutTotals && isSummable(column),
    },
  ]);

export type FormatName = 'xlsx' | 'csv';

/** Each by the ending of its files. Machines read the CSV: it has the view's columns, then the aliases of each kind that has some. */
export const formats: Readonly<Record<FormatName, Format>> = {
  xlsx: {
    label: 'Excel',
    type: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    write: (content) => {
      const { report, columns } = content.request;
      const meanings = columns.flatMap((column) =>
        column.comment ? [[titleOfCell(report, column), column.comment] as const] : [],
      );
      const about = [...content.about, ['', ''] as const, ...meanings];
      const workbook = { title: titleOf(report), about, columns: cellsOf(content) };
      return [addAliases(content), xlsxWriter(workbook)];
    },
  },
  csv: {
    label: 'CSV for programs',
    type: 'text/csv; charset=utf-8; header=present',
    write: (content) => {
      const { columns } = content.request;
      const names = [...columns, ...aliasesOf(columns, content.aliases)].map(({ name }) => name);
      return [addAliases(content), csvWriter(names)];
    },
  },
};
export const formatNames: readonly FormatName[] = ['xlsx', 'csv'];
