import type { SearchResponse } from '../search-schemas.ts';
import { table } from './table.ts';

/** Search results for a terminal: a table of drugs, one of laboratory tests. */
export function searchTable({ drugs, lab_tests }: Omit<SearchResponse, 'raw'>): string {
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
