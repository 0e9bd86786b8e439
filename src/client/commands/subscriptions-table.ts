import { eventNames } from '../event-names.ts';
import type { Subscription } from '../subscription-schemas.ts';
import { table } from './table.ts';

/** Subscriptions for a terminal. */
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

/** Subscriptions as JSON: the documented fields but the key. An undocumented field might be one. */
export function subscriptionsJson(subscriptions: readonly Subscription[]): string {
  const withoutKeys = subscriptions.map((s) => ({
    id: s.id,
    event_names: s.event_names,
    endpoint: s.endpoint,
    client_id: s.client_id,
    protocol: s.protocol,
    created_at: s.created_at,
    updated_at: s.updated_at,
    created_by: s.created_by,
    updated_by: s.updated_by,
  }));
  return JSON.stringify(withoutKeys, undefined, 2);
}

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
