import { stringify } from 'csv-stringify';

/** It begins like a formula, but a spreadsheet reads it as a number. */
const negativeNumber = /^-\d+(\.\d+)?$/;

/** Turns rows into CSV (RFC 4180). A quote in front marks as text what a spreadsheet would read as a formula. */
export function csvWriter(columns: readonly string[]) {
  return stringify({
    header: true,
    columns: [...columns],
    record_delimiter: 'windows',
    // The library quotes values with a whole delimiter only, RFC 4180 those with either half of it.
    quoted_match: /[\r\n]/,
    escape_formulas: true,
    cast: {
      string: (value, { header }) =>
        header || !negativeNumber.test(value) ? value : { value, escape_formulas: false },
    },
  });
}
