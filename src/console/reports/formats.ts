import { Duplex } from 'node:stream';
import { csvWriter } from '../../common/csv.ts';
import {
  aliasKindOf,
  isAmount,
  isNumeric,
  isSummable,
  type TypedColumn,
} from '../../reports/column-kinds.ts';
import type { ReportRow } from '../../reports/queries.ts';
import type { Aliases } from '../../store/aliases.ts';
import { titled } from '../ui/links.ts';
import { type XlsxColumn, xlsxWriter } from './xlsx.ts';
import type { CellKind } from './xlsx-styles.ts';

/** What a file has, besides its rows. */
export interface FileContent {
  title: string;
  columns: readonly TypedColumn[];
  aliases: Aliases | undefined;
  /** Lines that say which rows these are. */
  about: readonly (readonly [name: string, text: string])[];
  withoutTotals: boolean;
  currency: string;
}

interface Format {
  label: string;
  /** The content type. */
  type: string;
  ending: string;
  /** More rows are not sent. */
  mostRows?: number;
  /** The stages between the rows and the response. */
  write: (content: FileContent) => Duplex[];
}

/** The columns with ids of businesses, clinics and doctors, each with the column of their aliases if its kind has some. */
const aliasesOf = (columns: readonly TypedColumn[], aliases: Aliases | undefined) =>
  columns.flatMap(({ name: id }) => {
    const kind = aliasKindOf(id);
    return kind && aliases?.[kind].size
      ? [{ id, known: aliases[kind], name: `${id.replace(/_id$/, '')}_alias` }]
      : [];
  });

/** The stage that adds the aliases. */
const addAliases = ({ columns, aliases }: FileContent) =>
  Duplex.from(async function* (rows: AsyncIterable<ReportRow>) {
    const added = aliasesOf(columns, aliases);
    for await (const row of rows) {
      const values = added.map(({ id, known, name }) => [name, known.get(row[id] ?? '') ?? null]);
      yield { ...row, ...Object.fromEntries(values) };
    }
  });

const cellKinds: Record<string, CellKind> = {
  boolean: 'boolean',
  date: 'date',
  interval: 'duration',
  'timestamp with time zone': 'moment',
};

const cellKindOf = (column: TypedColumn): CellKind =>
  cellKinds[column.type] ?? (isAmount(column) ? 'amount' : isNumeric(column) ? 'number' : 'text');

/** The columns of a spreadsheet, titled in words: a name stands before its id. */
const cellsOf = ({ columns, aliases, withoutTotals }: FileContent): XlsxColumn[] =>
  columns.flatMap((column) => [
    ...aliasesOf([column], aliases).map(({ name }) => ({
      name,
      title: titled(name.replace(/_alias$/, '')),
      kind: 'text' as const,
    })),
    {
      name: column.name,
      title: titled(column.name),
      kind: cellKindOf(column),
      summed: !withoutTotals && isSummable(column),
    },
  ]);

/**
 * What a report can be downloaded as. Machines read the CSV: its columns are those of the view, then the aliases of each
 * kind that has some.
 */
const known = {
  xlsx: {
    label: 'Excel',
    type: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    ending: 'xlsx',
    mostRows: 500_000,
    write: (content) => [addAliases(content), xlsxWriter({ ...content, columns: cellsOf(content) })],
  },
  csv: {
    label: 'CSV',
    type: 'text/csv; charset=utf-8; header=present',
    ending: 'csv',
    write: (content) => {
      const names = [...content.columns, ...aliasesOf(content.columns, content.aliases)].map(
        ({ name }) => name,
      );
      return [addAliases(content), csvWriter(names, { forMachines: true })];
    },
  },
} satisfies Record<string, Format>;
export type FormatName = keyof typeof known;
export const formats: Readonly<Record<FormatName, Format>> = known;
export const formatNames = Object.keys(known) as FormatName[];
