import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify';

/** It begins like a formula, but a spreadsheet reads it as a number. */
const signedNumber = /^[+-]\d+(\.\d+)?$/;

/** Turns rows into CSV (RFC 4180). A quote in front marks as text what a spreadsheet would read as a formula. */
export function csvWriter(columns: readonly string[]) {
  return stringify({
    header: true,
    columns: [...columns],
    record_delimiter: 'windows',
    // The library quotes values with a whole delimiter only, RFC 4180 those with either half of it. Some spreadsheets split at others.
    quoted_match: /[\r\n\t;]/,
    escape_formulas: true,
    cast: {
      string: (value, { header }) => {
        if (header) return value;
        // The library leaves a line feed out.
        if (value.startsWith('\n')) return `'${value}`;
        return signedNumber.test(value) ? { value, escape_formulas: false } : value;
      },
    },
  });
}

/** Without empty rows, and without the quotes of `csvWriter` in front of formulas. @throws Error with the line of a wrong quote */
export function parseCsv(text: string): { line: number; cells: string[] }[] {
  const options = { bom: true, info: true, relax_column_count: true, record_delimiter: ['\r\n', '\n'] };
  const rows = parse(text, options) as unknown as { record: string[]; info: { lines: number } }[];
  return rows
    .filter(({ record }) => record.some((cell) => cell !== ''))
    .map(({ record, info }) => ({
      line: info.lines - (record.join('').split('\n').length - 1),
      cells: record.map((cell) => cell.replace(/^'(?=[=+\-@\t\r\n])/, '')),
    }));
}
