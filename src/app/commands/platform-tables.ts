import Table from 'cli-table3';
import { readTime } from '../../callbacks/times.ts';
import type { SearchResponse } from '../../client/index.ts';
import { eventNames, type Subscription, subscription } from '../../client/index.ts';
import { printable } from '../../common/terminal.ts';

export function searchTable({ drugs, lab_tests }: Omit<SearchResponse, 'raw'>): string {
  const drugRows = drugs.map((d) => {
    const otc = d.is_otc == null ? '' : d.is_otc ? 'yes' : 'no';
    return [d.name, d.generic_name, d.manufacturer_name, d.product_type, otc, d.id];
  });
  const testRows = lab_tests.map((t) => [t.name, t.category, t.price?.toFixed(2), t.preparation, t.id]);
  const tables = [
    table(['Drug', 'Generic', 'Manufacturer', 'Form', 'OTC', 'Id'], drugRows),
    table(['Laboratory test', 'Category', 'Price', 'Preparation', 'Id'], testRows),
  ];
  return tables.filter(Boolean).join('\n') || 'No results.';
}

export function subscriptionsTable(subscriptions: readonly Subscription[]): string {
  const rows = subscriptions.map((s) => [s.id, eventsOf(s), s.endpoint, s.protocol, timeOf(s.created_at)]);
  return table(['Id', 'Events', 'Endpoint', 'Protocol', 'Created'], rows) || 'No subscriptions.';
}

const withoutKeys = subscription.omit({ signing_key: true }).array();

/** Subscriptions as JSON: the documented fields but the key. An undocumented field might be one. */
export const subscriptionsJson = (subscriptions: readonly Subscription[]) =>
  JSON.stringify(withoutKeys.parse(subscriptions), undefined, 2);

function eventsOf({ event_names: names }: Subscription): string {
  const hasAll = eventNames.every((name) => names?.includes(name));
  return hasAll && names?.length === eventNames.length ? 'all' : (names?.join('\n') ?? '');
}

function timeOf(value: unknown): string {
  const ms = readTime(value);
  return ms == null ? '' : new Date(ms).toISOString();
}

/** A table for a terminal; empty if there are no rows. */
function table(head: string[], rows: (string | null | undefined)[][]): string {
  if (rows.length === 0) return '';
  const grid = new Table({ head, style: { head: [], border: [] } });
  grid.push(...rows.map((row) => row.map((cell) => printable(cell ?? ''))));
  return grid.toString();
}
