import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify';

/** It begins like a formula, but a spreadsheet reads it as a number. */
const negativeNumber = /^-\d+(\.\d+)?$/;

/** A spreadsheet reads it as a number or a date: 15 digits stay, of a longer id the rest is lost. */
const readsAsNumber = /^[+(]?\d[\d +.,:/()eE-]*$/;

interface CsvOptions {
  /** Machines read it: each value is written as it is, also one that a spreadsheet would read as a formula. */
  forMachines?: boolean;
  /**
   * The columns of texts, for a spreadsheet: the file begins with a byte order mark, and their numbers are written as ="12",
   * which Excel and LibreOffice show as the text 12.
   */
  texts?: ReadonlySet<string>;
}

/**
 * Turns rows into CSV (RFC 4180). Unless it is for machines, a quote in front marks as text what a spreadsheet would read as a
 * formula.
 */
export function csvWriter(columns: readonly string[], { forMachines = false, texts }: CsvOptions = {}) {
  return stringify({
    header: true,
    bom: texts !== undefined,
    columns: [...columns],
    record_delimiter: 'windows',
    // The library quotes values with a whole delimiter only, RFC 4180 those with either half of it.
    quoted_match: /[\r\n]/,
    escape_formulas: !forMachines,
    cast: {
      string: (value, { header, column }) => {
        if (header) return value;
        if (texts?.has(String(column)) && readsAsNumber.test(value)) {
          return { value: `="${value}"`, escape_formulas: false };
        }
        // The library leaves a line feed out.
        if (!forMachines && value.startsWith('\n')) return `'${value}`;
        return negativeNumber.test(value) ? { value, escape_formulas: false } : value;
      },
    },
  });
}

export interface CsvRow {
  /** The line on which it begins, from 1. */
  line: number;
  cells: string[];
}

/**
 * Parses CSV (RFC 4180), of rows of any length. Empty rows are left out, and so is the quote that `csvWriter` puts in front
 * of a formula.
 *
 * @throws Error where a quote is wrong, with the line
 */
export function parseCsv(text: string): CsvRow[] {
  const options = { bom: true, info: true, relax_column_count: true, record_delimiter: ['\r\n', '\n'] };
  const rows = parse(text, options) as unknown as { record: string[]; info: { lines: number } }[];
  return rows
    .filter(({ record }) => record.some((cell) => cell !== ''))
    .map(({ record, info }) => ({
      line: info.lines - (record.join('').split('\n').length - 1),
      cells: record.map((cell) => cell.replace(/^'(?=[=+\-@\t\r\n])/, '')),
    }));
}
