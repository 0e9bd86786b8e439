import { identify } from '../../src/intake/identity.ts';
import type { Callback } from '../../src/sandbox/history.ts';

type Version = (string | number)[];
type Envelope = Callback['envelope'] & { event: string; data: Record<string, unknown> };

const lifecycle = ['created', 'updated', 'deleted'];
const seconds = (time: number) => (time > 1e11 ? time / 1000 : time);

/** What orders the versions of a receipt within a second: a deletion that does not say when it was comes last. */
const changed = ({ event, data }: Envelope) =>
  typeof data.updated_at === 'number'
    ? seconds(data.updated_at)
    : event === 'receipt.deleted'
      ? Infinity
      : -Infinity;

/** The newest version of each thing, worked out apart from the service: key -> id of the delivery. */
export function newestVersions(callbacks: Iterable<Pick<Callback, 'envelope'>>): Map<string, string> {
  const newest = new Map<string, Version>();
  for (const { envelope } of callbacks) {
    const { event, event_time, business_id, data } = envelope as unknown as Envelope;
    const id = identify(envelope as never);
    const [family, action] = event.split('.') as [string, string];
    const things: Record<string, string> = {
      receipt: `receipt ${business_id} ${data.receipt_id}`,
      mcert: `consent_form ${business_id} ${data.id}`,
      google_review: `review_request ${id}`,
    };
    const updated = family === 'receipt' ? changed(envelope as unknown as Envelope) : 0;
    const version = [seconds(event_time), updated, lifecycle.indexOf(action), id];
    const held = newest.get(things[family]!);
    if (!held || isGreater(version, held)) newest.set(things[family]!, version);
  }
  return new Map([...newest].map(([key, version]) => [key, version[3] as string]));
}

function isGreater(a: Version, b: Version): boolean {
  const at = a.findIndex((part, index) => part !== b[index]);
  return at >= 0 && a[at]! > b[at]!;
}

/** The same of the tables, as one query. */
export const versionsInTables = `
  select 'receipt ' || business_id || ' ' || receipt_id as key, delivery_id::text as id from receipts
  union all select 'consent_form ' || business_id || ' ' || id, delivery_id::text from consent_forms
  union all select 'review_request ' || delivery_id, delivery_id::text from review_requests`;
