import { Duplex } from 'node:stream';
import { csvWriter } from '../../csv.ts';
import type { Aliases } from '../../store/aliases.ts';
import { aliasKindOf, isNumeric, type TypedColumn } from '../ui/field-value.tsx';
import type { ReportRow } from './queries.ts';
import { xlsxWriter } from './xlsx.ts';

interface Format {
  label: string;
  /** Of the content. */
  type: string;
  ending: string;
  /** More rows are not sent. */
  mostRows?: number;
  /** The stages between the rows and the response. */
  write: (columns: readonly TypedColumn[], aliases: Aliases | undefined) => Duplex[];
}

const csv = { type: 'text/csv; charset=utf-8; header=present', ending: 'csv' };
const moment = 'timestamp with time zone';
const namesOf = (columns: readonly TypedColumn[]) => columns.map(({ name }) => name);
const aliasName = (id: string) => `${id.replace(/_id$/, '')}_alias`;

/** An id of a business, a clinic or a doctor is followed by its alias. */
const addAliases = (columns: readonly TypedColumn[]) =>
  columns.flatMap((column) =>
    aliasKindOf(column.name) ? [column, { name: aliasName(column.name), type: 'text' }] : [column],
  );

/** A stage that gives each row what a function adds to it. */
const extendRows = (extend: (row: ReportRow) => ReportRow) =>
  Duplex.from(async function* (rows: AsyncIterable<ReportRow>) {
    for await (const row of rows) yield { ...row, ...extend(row) };
  });

const withAliases = (columns: readonly TypedColumn[], aliases: Aliases | undefined) => {
  const ids = columns.flatMap(({ name }) => {
    const kind = aliasKindOf(name);
    return kind ? [{ name, alias: aliasName(name), known: aliases?.[kind] }] : [];
  });
  return extendRows((row) =>
    Object.fromEntries(ids.map(({ name, alias, known }) => [alias, known?.get(row[name] ?? '') ?? null])),
  );
};

/** Spreadsheets take a time with an offset for a text; the session writes it in the reports' time zone. */
const withLocalTimes = (columns: readonly TypedColumn[]) => {
  const times = columns.filter(({ type }) => type === moment);
  const local = (value: string | null | undefined) => value?.replace(/(\.\d+)?[+-]\d\d(:\d\d)*$/, '') ?? null;
  return extendRows((row) => Object.fromEntries(times.map(({ name }) => [name, local(row[name])])));
};

/** What a report can be downloaded as. Machines read the CSV: its columns are those of the view. */
const known = {
  csv: { ...csv, label: 'CSV', write: (columns) => [csvWriter(namesOf(columns))] },
  spreadsheet: {
    ...csv,
    label: 'CSV for spreadsheets',
    write: (columns, aliases) => {
      const all = addAliases(columns);
      const texts = all.filter((column) => !isNumeric(column) && !['date', moment].includes(column.type));
      return [
        withAliases(columns, aliases),
        withLocalTimes(columns),
        csvWriter(namesOf(all), new Set(namesOf(texts))),
      ];
    },
  },
  xlsx: {
    label: 'Excel',
    type: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    ending: 'xlsx',
    mostRows: 500_000,
    write: (columns, aliases) => [withAliases(columns, aliases), xlsxWriter(addAliases(columns))],
  },
} satisfies Record<string, Format>;
export type FormatName = keyof typeof known;
export const formats: Readonly<Record<FormatName, Format>> = known;
export const formatNames = Object.keys(known) as FormatName[];
