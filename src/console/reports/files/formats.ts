import { Duplex } from 'node:stream';
import { csvWriter } from '../../../common/csv.ts';
import type { Aliases } from '../../../reconcile/aliases.ts';
import { aliasKindOf, isAmount, isNumeric, type TypedColumn } from '../column-kinds.ts';
import type { ReportRow } from '../queries.ts';
import { type XlsxColumn, xlsxWriter } from './xlsx.ts';
import type { CellKind } from './xlsx-styles.ts';

/** A column of a file: its name for programs, its title for people. */
export interface FileColumn extends TypedColumn {
  title: string;
  comment?: string | null;
  /** Whether its sum says something. */
  summed?: boolean;
}

/** What a file has, besides its rows. */
export interface FileContent {
  title: string;
  columns: readonly FileColumn[];
  aliases: Aliases | undefined;
  /** Lines that say which rows these are. */
  about: readonly (readonly [name: string, text: string])[];
}

interface Format {
  label: string;
  /** The content type. */
  type: string;
  ending: string;
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

/**
 * What a report can be downloaded as. Machines read the CSV: its columns are those of the view, then the aliases of each
 * kind that has some.
 */
const known = {
  xlsx: {
    label: 'Excel',
    type: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    ending: 'xlsx',
    write: (content) => {
      const meanings = content.columns.flatMap((column) =>
        column.comment ? [[titleOfCell(column), column.comment] as const] : [],
      );
      const about = [...content.about, ['', ''] as const, ...meanings];
      return [addAliases(content), xlsxWriter({ ...content, about, columns: cellsOf(content) })];
    },
  },
  csv: {
    label: 'CSV',
    type: 'text/csv; charset=utf-8; header=present',
    ending: 'csv',
    write: (content) => {
      const names = [...content.columns, ...aliasesOf(content.columns, content.aliases)].map(
        ({ name }) => name,
      );
      return [addAliases(content), csvWriter(names)];
    },
  },
} satisfies Record<string, Format>;
export type FormatName = keyof typeof known;
export const formats: Readonly<Record<FormatName, Format>> = known;
export const formatNames = Object.keys(known) as FormatName[];
