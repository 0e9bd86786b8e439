import type { ComponentChildren } from 'preact';

export interface Column<Row> {
  head: ComponentChildren;
  cell: (row: Row) => ComponentChildren;
  /** Right-aligned. */
  numeric?: boolean;
  /** Long texts wrap. */
  wide?: boolean;
  /** Explains the column. */
  title?: string | undefined;
  /** Whether its cells are the heads of their rows. */
  rowHead?: boolean;
  /** The plain value of a cell, for scripts. */
  value?: (row: Row) => number | string;
}

interface TableProps<Row> {
  /** What the table shows, for screen readers. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  /** Shown instead of a table without rows. */
  empty?: ComponentChildren;
  /** Two or three narrow columns. */
  small?: boolean;
}

/** A table; on a narrow screen it scrolls in its own frame. */
export function Table<Row>({ label, columns, rows, empty, small }: TableProps<Row>) {
  if (rows.length === 0) return empty ? <p class="empty">{empty}</p> : null;
  return (
    <section class={small ? 'scroll small' : 'scroll'} aria-label={label} tabindex={0}>
      <table aria-label={label}>
        <thead>
          <tr>
            {columns.map(({ head, numeric, title }, column) => (
              <th key={column} scope="col" class={numeric ? 'number' : undefined} title={title}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {columns.map(({ cell, numeric, wide, rowHead, value }, column) => {
                const className = numeric ? 'number' : wide ? 'wide' : undefined;
                return rowHead ? (
                  <th key={column} scope="row">
                    {cell(row)}
                  </th>
                ) : (
                  <td key={column} class={className} data-value={value?.(row)}>
                    {cell(row)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface PageLinksProps {
  /** The addresses of the next pages, where there are any. */
  newer?: string | false | undefined;
  older: string | false | undefined;
}

/** Links to the pages of newer and of older rows. */
export function PageLinks({ newer, older }: PageLinksProps) {
  if (!newer && !older) return null;
  return (
    <nav class="pages" aria-label="Pages">
      <span>{newer && <a href={newer}>← Newer</a>}</span>
      <span>{older && <a href={older}>Older →</a>}</span>
    </nav>
  );
}
