import type pg from 'pg';
import type { Delivery } from '../../callbacks/delivery.ts';
import { type Family, takesEveryEvent } from '../../callbacks/families/family.ts';
import { createReadCallback } from '../../callbacks/read-callback.ts';
import { InvalidCallback, Rejection } from '../../callbacks/rejection.ts';
import { dayMs } from '../../common/days.ts';
import type { Core } from '../../receiver/feature.ts';
import { storeDeliveries } from '../../receiver/gate/gate.ts';
import { readRejected } from '../../receiver/intake/quarantine-body.ts';
import { insertRejected, readRows, type StoredCallback } from './copy.ts';

const timeoutMs = 60_000;

type MoveCounts = Record<'stored' | 'rejected', number>;

type SourceRejection = StoredCallback & { rejection: Rejection };

/** Stores callbacks of the source as if they were received here, when they were. Existing ones stay as they are. */
export async function moveCallbacks(
  core: Core,
  client: pg.ClientBase,
  query: string,
  onProgress: (count: number) => void,
): Promise<Record<string, MoveCounts>> {
  const readStored = createReadStored(core.families);
  const families: Record<string, MoveCounts> = {};
  const count = (key: keyof MoveCounts, list: readonly { family: string }[]) => {
    for (const { family } of list) {
      families[family] ??= { stored: 0, rejected: 0 };
      families[family][key] += 1;
    }
  };
  for await (const rows of readRows<StoredCallback>(client, query)) {
    const deliveries: Delivery[] = [];
    const rejections: SourceRejection[] = [];
    for (const row of rows) {
      const delivery = readStored(row);
      if (delivery instanceof Rejection) rejections.push({ ...row, rejection: delivery });
      else deliveries.push(delivery);
    }
    count('stored', await store(core, deliveries));
    await quarantine(core, rejections);
    count('rejected', rejections);
    onProgress(rows.length);
  }
  return families;
}

function createReadStored(families: readonly Family[]) {
  const readCallback = createReadCallback(families, true);
  const expected = families.find(takesEveryEvent);
  return (stored: StoredCallback): Delivery | Rejection => {
    if (isDelivery(stored)) return stored;
    const { id, body, receivedAt, storedAt } = stored;
    try {
      // An id is that of the body as received, of which a secret was a part.
      const storedId = body.includes('"[redacted]"') ? id : undefined;
      const { delivery } = readCallback(body, { expected, receivedAt, id: storedId });
      if (delivery.eventMs <= receivedAt / 1000 + dayMs) return { ...delivery, storedAt };
      return InvalidCallback.at('/event_time', 'must not be more than a day after the arrival');
    } catch (error) {
      if (error instanceof Rejection) return error;
      throw error;
    }
  };
}

/** Callbacks of version 2 were read when they came in. */
const isDelivery = (stored: StoredCallback): stored is StoredCallback & Delivery =>
  stored.version !== undefined;

async function store({ pool, families }: Core, deliveries: readonly Delivery[]): Promise<Delivery[]> {
  const arrivals = [deliveries.map(({ id }) => id), deliveries.map(({ receivedAt }) => receivedAt)];
  const { rows } = await pool.query<{ id: string }>(alreadyMoved, arrivals);
  const existing = new Set(rows.map(({ id }) => id));
  const stored = deliveries.filter(({ id }) => !existing.has(id));
  if (stored.length > 0) await storeDeliveries(pool, families, stored, timeoutMs);
  return stored;
}

// One that was received here too, but later, gets the earlier arrival.
const alreadyMoved = `
select id from receiver.inbox join unnest($1::uuid[], $2::float8[]) as g(id, us) using (id)
where received_at <= timestamptz 'epoch' + us * interval '1 microsecond'`;

/** Keeps acknowledged callbacks that the current rules refuse, under their former ids. */
async function quarantine({ pool, config, families }: Core, rejections: readonly SourceRejection[]) {
  const rows = rejections.map(({ id, family, businessId, body, receivedAt, rejection }) => ({
    id,
    family,
    business_id: businessId || null,
    path: config.paths[family]?.[0] ?? family,
    reason: rejection.reason,
    errors: rejection.errors,
    body: `\\x${body.toString('hex')}`,
    subjects: readRejected(families, body, family).subjects,
    acknowledged: true,
    count: 1,
    received_at: new Date(receivedAt / 1000),
    last_received_at: new Date(receivedAt / 1000),
  }));
  await pool.query(insertRejected, [JSON.stringify(rows)]);
}
