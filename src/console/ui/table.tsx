import type { ComponentChildren } from 'preact';

export interface Column<Row> {
  head: string;
  cell: (row: Row) => ComponentChildren;
  /** Right-aligned. */
  numeric?: boolean;
  /** Long texts wrap. */
  wide?: boolean;
  /** Explains the column. */
  title?: string | undefined;
}

interface TableProps<Row> {
  /** What the table shows, for screen readers. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  /** Shown instead of a table without rows. */
  empty: ComponentChildren;
  /** Two or three narrow columns. */
  small?: boolean;
}

/** A table; on a narrow screen it scrolls in its own frame. */
export function Table<Row>({ label, columns, rows, empty, small }: TableProps<Row>) {
  if (rows.length === 0) return <p class="empty">{empty}</p>;
  return (
    <section class={small ? 'scroll small' : 'scroll'} aria-label={label} tabindex={0}>
      <table>
        <caption class="unseen">{label}</caption>
        <thead>
          <tr>
            {columns.map(({ head, numeric, title }) => (
              <th key={head} scope="col" class={numeric ? 'number' : undefined} title={title}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {columns.map(({ head, cell, numeric, wide }) => (
                <td key={head} class={numeric ? 'number' : wide ? 'wide' : undefined}>
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
