import Table from 'cli-table3';
import type { SearchResponse } from '../search-schemas.ts';

/** Search results for a terminal: a table of drugs, one of laboratory tests. */
export function searchTable({ drugs, lab_tests }: SearchResponse): string {
  const tables = [
    table(['Drug', 'Generic', 'Manufacturer', 'Form', 'OTC', 'Id'], drugs, (d) => [
      d.name,
      d.generic_name,
      d.manufacturer_name,
      d.product_type,
      d.is_otc == null ? '' : d.is_otc ? 'yes' : 'no',
      d.id,
    ]),
    table(['Laboratory test', 'Category', 'Price', 'Preparation', 'Id'], lab_tests, (t) => [
      t.name,
      t.category,
      t.price?.toFixed(2),
      t.preparation,
      t.id,
    ]),
  ].filter(Boolean);
  return tables.join('\n') || 'No results.';
}

function table<T>(head: string[], items: readonly T[], row: (item: T) => (string | null | undefined)[]) {
  if (items.length === 0) return '';
  const grid = new Table({ head, style: { head: [], border: [] } });
  grid.push(...items.map((item) => row(item).map((cell) => printable(cell ?? ''))));
  return grid.toString();
}

// Names from the service must not control the terminal.
const printable = (text: string) => text.replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, ' ');
