import { identify } from '../../src/intake/identity.ts';
import type { Callback } from '../../src/sandbox/history.ts';

type Version = (string | number)[];
type Envelope = Callback['envelope'] & { event: string; data: Record<string, unknown> };

const seconds = (time: number) => (time > 1e11 ? time / 1000 : time);

/** Orders the versions of a receipt within a second: a deletion without `updated_at` is the last. */
const changeTime = ({ event, data }: Envelope) =>
  typeof data.updated_at === 'number'
    ? seconds(data.updated_at)
    : event === 'receipt.deleted'
      ? Infinity
      : -Infinity;

/** The newest version of each record, computed independently of the receiver: key → id of the delivery. */
export function newestVersions(callbacks: Iterable<Pick<Callback, 'envelope'>>): Map<string, string> {
  const newest = new Map<string, Version>();
  for (const { envelope } of callbacks) {
    const { event, event_time, business_id, data } = envelope as unknown as Envelope;
    const id = identify(envelope as never);
    const [family, action] = event.split('.') as [string, string];
    const keys: Record<string, string> = {
      receipt: `receipt ${business_id} ${data.receipt_id}`,
      mcert: `consent_form ${business_id} ${data.id}`,
      google_review: `review_request ${id}`,
    };
    const updated = family === 'receipt' ? changeTime(envelope as unknown as Envelope) : 0;
    const at = seconds(event_time);
    const act = action === 'created' ? 1 : action === 'deleted' ? 3 : 2;
    const version = [Math.floor(at), Math.floor(updated), act, updated, at, id];
    const existing = newest.get(keys[family]!);
    if (!existing || isGreater(version, existing)) newest.set(keys[family]!, version);
  }
  return new Map([...newest].map(([key, version]) => [key, version.at(-1) as string]));
}

function isGreater(a: Version, b: Version): boolean {
  const at = a.findIndex((part, index) => part !== b[index]);
  return at >= 0 && a[at]! > b[at]!;
}

/** The versions in the tables: rows of `key` and `id`. */
export const versionsInTables = `
  select 'receipt ' || business_id || ' ' || receipt_id as key, delivery_id::text as id from receipts
  union all select 'consent_form ' || business_id || ' ' || id, delivery_id::text from consent_forms
  union all select 'review_request ' || delivery_id, delivery_id::text from review_requests`;
