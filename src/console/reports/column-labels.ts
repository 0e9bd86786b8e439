import { labelOf } from '../../callbacks/families/family.ts';
import { families } from '../../callbacks/families/index.ts';
import { titled } from '../../common/words.ts';
import { aliasKindOf } from './column-kinds.ts';
import type { Report } from './report.ts';

/** Columns that hold a field of a record by another name. */
const fieldOf: Record<string, string> = {
  gross_amount: 'receipt_amount',
  item_discount_amount: 'sku_discount_amount',
};

/** Columns beside one that would have the same name. */
const beside: Record<string, string> = {
  estimated_at: 'Estimated at',
  owner: 'Owner',
  doctor: 'Doctor’s name',
  facility: 'Clinic’s name',
};

/** What people call a column, wherever it is shown: as on the page of a record, where that shows the same field. */
export function labelOfColumn(report: Report, name: string): string {
  const field = fieldOf[name] ?? name;
  const labels = families.flatMap((family) =>
    report.families.includes(family.name) ? labelOf(family, field) : [],
  );
  const own = beside[name] ?? labels.find((label) => label !== titled(field));
  return own ?? titled(aliasKindOf(name) ?? name.replace(/_(amount|at)$/, ''));
}
