import type { ComponentChildren } from 'preact';

/**
 * What a column is called and shows, with its classes: `n` a number, `wide` a text that wraps, `at-title`, `at-amount`,
 * `at-note`, `at-badge` its place in the two lines of a row on a phone, `labelled` with what it is called.
 */
export type Column<Row> = readonly [
  head: ComponentChildren,
  cell: (row: Row) => ComponentChildren,
  classes?: string,
];

interface TableProps<Row> {
  /** For screen readers; `heading`: for all, above the rows, if there are any. */
  label: string;
  heading?: boolean;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  empty?: ComponentChildren;
  /** On each sheet of paper. */
  printed?: ComponentChildren;
}

export function Table<Row>({ label, heading, columns, rows, empty, printed }: TableProps<Row>) {
  if (rows.length === 0) return empty ? <p class="empty">{empty}</p> : null;
  const isList = columns.some(([, , classes]) => classes?.includes('at-'));
  return (
    <section class="scroll" aria-label={label} tabindex={isList ? undefined : 0}>
      {heading && <h2>{label}</h2>}
      <table class={isList ? 'rows' : undefined} aria-label={label}>
        <thead>
          {printed && (
            <tr class="printed">
              <th colSpan={columns.length}>{printed}</th>
            </tr>
          )}
          <tr>
            {columns.map(([head, , classes], index) => (
              <th key={index} scope="col" class={classes}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {columns.map(([head, cell, classes], place) => (
                <td key={place} class={classes} data-label={classes?.includes('labelled') ? head : undefined}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
