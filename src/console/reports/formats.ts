import { Duplex } from 'node:stream';
import { csvWriter } from '../../common/csv.ts';
import type { Aliases } from '../../store/aliases.ts';
import { aliasKindOf, cellKindOf, type TypedColumn } from '../ui/field-value.tsx';
import type { ReportRow } from './queries.ts';
import { type XlsxColumn, xlsxWriter } from './xlsx.ts';

interface Format {
  label: string;
  /** The content type. */
  type: string;
  ending: string;
  /** More rows are not sent. */
  mostRows?: number;
  /** The stages between the rows and the response. */
  write: (columns: readonly TypedColumn[], aliases: Aliases | undefined) => Duplex[];
}

/** The columns that ids of businesses, clinics and doctors have their aliases in. */
const aliasesOf = (columns: readonly TypedColumn[]) =>
  columns.flatMap(({ name: id }) => {
    const kind = aliasKindOf(id);
    return kind ? [{ id, kind, name: `${id.replace(/_id$/, '')}_alias` }] : [];
  });

/** The cells of a spreadsheet: an id is followed by its alias. */
const cellsOf = (columns: readonly TypedColumn[]): XlsxColumn[] =>
  columns.flatMap((column) => [
    { name: column.name, kind: cellKindOf(column) },
    ...aliasesOf([column]).map(({ name }) => ({ name, kind: 'text' as const })),
  ]);

/** A stage that replaces the values of some columns, or adds columns. */
const change = (values: [name: string, read: (row: ReportRow) => string | null | undefined][]) =>
  Duplex.from(async function* (rows: AsyncIterable<ReportRow>) {
    for await (const row of rows) {
      yield { ...row, ...Object.fromEntries(values.map(([name, read]) => [name, read(row) ?? null])) };
    }
  });

const addAliases = (columns: readonly TypedColumn[], aliases: Aliases | undefined) =>
  change(aliasesOf(columns).map(({ id, kind, name }) => [name, (row) => aliases?.[kind].get(row[id] ?? '')]));

/**
 * What a report can be downloaded as. Machines read the CSV: its columns are those of the view, then the aliases of each
 * kind that has some.
 */
const known = {
  csv: {
    label: 'CSV for machines',
    type: 'text/csv; charset=utf-8; header=present',
    ending: 'csv',
    write: (columns, aliases) => {
      const added = aliasesOf(columns).filter(({ kind }) => aliases?.[kind].size);
      return [
        addAliases(columns, aliases),
        csvWriter(
          [...columns, ...added].map(({ name }) => name),
          { forMachines: true },
        ),
      ];
    },
  },
  xlsx: {
    label: 'Excel',
    type: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    ending: 'xlsx',
    mostRows: 500_000,
    write: (columns, aliases) => [addAliases(columns, aliases), xlsxWriter(cellsOf(columns))],
  },
} satisfies Record<string, Format>;
export type FormatName = keyof typeof known;
export const formats: Readonly<Record<FormatName, Format>> = known;
export const formatNames = Object.keys(known) as FormatName[];
