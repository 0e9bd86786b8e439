import type { ComponentChildren } from 'preact';

export interface Column<Row> {
  head: string;
  cell: (row: Row) => ComponentChildren;
  numeric?: boolean;
  /** Long texts wrap. */
  wide?: boolean;
  title?: string | undefined;
  rowHead?: boolean;
  /** The name by which the table is sorted; undefined: not by this column. */
  sort?: string | undefined;
  total?: ComponentChildren;
}

export interface Sorting {
  by: string;
  descending: boolean;
  href: (by: string, descending: boolean) => string;
}

interface TableProps<Row> {
  /** For screen readers. */
  label: string;
  columns: readonly Column<Row>[];
  /** Undefined: the query timed out. */
  rows: readonly Row[] | undefined;
  empty?: ComponentChildren;
  /** Two or three narrow columns. Other tables have a card for each row on a narrow screen. */
  small?: boolean;
  sorting?: Sorting | undefined;
}

export function Table<Row>({ label, columns, rows, empty, small = false, sorting }: TableProps<Row>) {
  if (!rows) return <p class="empty">{label} took too long to read. Reload the page.</p>;
  if (rows.length === 0) return empty ? <p class="empty">{empty}</p> : null;
  const hasTotals = columns.some(({ total }) => total !== undefined);
  return (
    <section class={`list ${small ? 'small' : 'cards'}`} aria-label={label}>
      <table aria-label={label}>
        <thead>
          <tr>
            {columns.map((column, index) => (
              <Head key={index} column={column} sorting={sorting} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {columns.map((column, place) =>
                column.rowHead ? (
                  <th key={place} scope="row">
                    {column.cell(row)}
                  </th>
                ) : (
                  <Cell key={place} {...{ column, small }} content={column.cell(row)} />
                ),
              )}
            </tr>
          ))}
        </tbody>
        {hasTotals && (
          <tfoot>
            <tr>
              <th scope="row">{columns[0]!.total ?? 'Total'}</th>
              {columns.slice(1).map((column, index) => (
                <Cell key={index} {...{ column, small }} content={column.total} />
              ))}
            </tr>
          </tfoot>
        )}
      </table>
    </section>
  );
}

function Head<Row>({ column, sorting }: { column: Column<Row>; sorting: Sorting | undefined }) {
  const { head, numeric, title, sort } = column;
  const isSorted = sort !== undefined && sorting?.by === sort;
  const order = isSorted ? (sorting.descending ? 'descending' : 'ascending') : undefined;
  return (
    <th scope="col" class={numeric ? 'number' : undefined} title={title} aria-sort={order}>
      {sorting && sort ? <a href={sorting.href(sort, isSorted && !sorting.descending)}>{head}</a> : head}
    </th>
  );
}

/** In a card its head stands beside it. */
function Cell<Row>({
  column,
  content,
  small,
}: {
  column: Column<Row>;
  content: ComponentChildren;
  small: boolean;
}) {
  const { head, numeric, wide } = column;
  return (
    <td class={numeric ? 'number' : wide ? 'wide' : undefined} data-head={small ? undefined : head}>
      {content}
    </td>
  );
}

export function PageLinks({ newer, older }: { newer?: ComponentChildren; older: ComponentChildren }) {
  if (!newer && !older) return null;
  return (
    <nav class="pages" aria-label="Pages">
      <span>{newer}</span>
      <span>{older}</span>
    </nav>
  );
}
