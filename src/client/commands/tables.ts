import Table from 'cli-table3';
import { eventNames } from '../event-names.ts';
import type { SearchResponse } from '../search-schemas.ts';
import { type Subscription, subscription } from '../subscription-schemas.ts';

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

export function subscriptionsTable(subscriptions: readonly Subscription[]): string {
  const head = ['Id', 'Events', 'Endpoint', 'Protocol', 'Created'];
  const grid = table(head, subscriptions, (s) => [
    s.id,
    eventsOf(s),
    s.endpoint,
    s.protocol,
    timeOf(s.created_at),
  ]);
  return grid || 'No subscriptions.';
}

const withoutKeys = subscription.omit({ signing_key: true }).array();

/** Subscriptions as JSON: the documented fields but the key. An undocumented field might be one. */
export const subscriptionsJson = (subscriptions: readonly Subscription[]) =>
  JSON.stringify(withoutKeys.parse(subscriptions), undefined, 2);

function eventsOf({ event_names: names }: Subscription): string | readonly string[] {
  const hasAll = eventNames.every((name) => names?.includes(name));
  return hasAll && names?.length === eventNames.length ? 'all' : (names ?? '');
}

/** A number is in seconds, or in milliseconds if above 1e11; a text is printed as it is. */
function timeOf(value: unknown): string {
  if (typeof value !== 'number') return typeof value === 'string' ? value : '';
  const time = new Date(value > 1e11 ? value : value * 1000);
  return Number.isNaN(time.getTime()) ? String(value) : time.toISOString();
}

type Cell = string | readonly string[] | null | undefined;

/** A table for a terminal, with the lines of a cell as a list; empty if there are no items. */
function table<T>(head: string[], items: readonly T[], row: (item: T) => Cell[]): string {
  if (items.length === 0) return '';
  const grid = new Table({ head, style: { head: [], border: [] } });
  grid.push(...items.map((item) => row(item).map((cell) => [cell ?? ''].flat().map(printable).join('\n'))));
  return grid.toString();
}

// Names from the platform must not control the terminal.
const printable = (text: string) => text.replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, ' ');
