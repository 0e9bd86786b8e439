import { randomUUID } from 'node:crypto';
import { applyDeliveries } from '../../src/apply/apply.ts';
import { createLog } from '../../src/common/log.ts';
import { families } from '../../src/families/index.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import { createQuarantine } from '../../src/intake/quarantine.ts';
import { callbacks } from '../../src/sandbox/callbacks.ts';
import type { Callback } from '../../src/sandbox/history.ts';
import { deliveryOf, paths } from '../support/callbacks.ts';
import type { TestDatabase } from '../support/database.ts';
import { setTimes } from '../support/deliveries.ts';

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const clientId = '64a1f0c2e4b0a1b2c3d4e5f6';
const businessIds = ['6712f0c2e4b0a1b2c3d4e501', '6712f0c2e4b0a1b2c3d4e502', '6712f0c2e4b0a1b2c3d4e503'];
/** Has sent nothing for two days. */
const silentBusiness = businessIds[2]!;

export interface MadeUp {
  /** Deliveries that failed because of the constraint `receipts_no_refunds`. */
  failed: string[];
  applied: string[];
}

/**
 * Some weeks of three clinics: mostly applied deliveries, a few failed ones, rejected bodies, and one silent clinic.
 * Random values are seeded.
 */
export async function makeUp(database: TestDatabase, days = 31, perDay = 70): Promise<MadeUp> {
  await database.pool.query(
    'alter table receipts add constraint receipts_no_refunds check (remarks <> $$Refund$$)',
  );
  const callbacks = Array.from({ length: days }, (_, ago) => dayOf(ago, perDay)).flat();
  const deliveries = callbacks.map((callback) => deliveryOf(callback as never));
  const applied: string[] = [];
  const failed: string[] = [];
  for (let at = 0; at < deliveries.length; at += 500) {
    const part = deliveries.slice(at, at + 500);
    await insertDeliveries(database.pool, part);
    const ids = part.map(({ id }) => id);
    const outcome = await applyDeliveries(database.db, families, ids);
    const broken = outcome.failed.map(({ id }) => id);
    failed.push(...broken);
    applied.push(...ids.filter((id) => !broken.includes(id)));
  }
  const after = (ms: number) =>
    `(select event_time from inbox i where i.id = t.id) + interval '${ms} milliseconds'`;
  await setTimes(database, { received_at: after(900), applied_at: after(960) });
  await database.pool.query(`
    insert into resends (id, count, last_received_at)
    select id, 1, received_at + interval '31 seconds' from (select * from inbox order by id desc limit 200) as newest
    where get_byte(uuid_send(id), 15) < 16`);
  await fillQuarantine(database);
  await database.pool.query(
    'vacuum analyze inbox, applied_deliveries, receipts, consent_forms, review_requests',
  );
  return { applied, failed };
}

/** The callbacks of one day, spread over its opening hours in India; fewer on a Sunday. */
function dayOf(ago: number, perDay: number) {
  const midnight = Math.floor((Date.now() + 5.5 * hourMs) / dayMs - ago) * dayMs - 5.5 * hourMs;
  const isSunday = new Date(midnight + 12 * hourMs).getUTCDay() === 0;
  const count = Math.round(perDay * (isSunday ? 0.35 : 1 + 0.25 * Math.sin(ago * 1.7)));
  const source = [...callbacks({ seed: 1_000 + ago, clientId, businessIds, count })];
  const made = [];
  for (let index = 0; index < count; index += 1) {
    const { envelope } = source[index]!;
    // Mornings are busier than evenings.
    const at = Math.round(midnight + (9 + 11 * (index / count) ** 1.2) * hourMs);
    // Three days: one of them may be a Sunday, and today may just have begun.
    if (at > Date.now() - 60_000 || (envelope.business_id === silentBusiness && ago < 3)) continue;
    made.push(movedTo(envelope, at, ago));
  }
  return made;
}

function movedTo(
  { event, event_time, timestamp, data, ...parties }: Callback['envelope'],
  at: number,
  ago: number,
) {
  const then = event_time > 1e11 ? event_time : event_time * 1000;
  const moved = { ...data };
  for (const name of ['created_at', 'updated_at']) {
    if (typeof moved[name] === 'number') moved[name] = moved[name] - then + at;
  }
  if (typeof moved.receipt_id === 'number') moved.receipt_id += ago * 10_000;
  if (typeof moved.receipt_id === 'number' && moved.receipt_id % 97 === 0) moved.remarks = 'Refund';
  const seconds = Math.floor(at / 1000);
  return {
    event,
    event_time: seconds,
    timestamp: timestamp === 0 ? 0 : seconds + 1,
    ...parties,
    data: moved,
  };
}

const envelope = () => [...callbacks({ seed: 1, families: ['receipt'], count: 1 })][0]!.envelope;

async function fillQuarantine(database: TestDatabase): Promise<void> {
  const quarantine = createQuarantine({
    families,
    pool: database.pool,
    log: createLog('silent'),
    limits: { bytes: 1_000_000 },
  });
  const body = (value: object) => Buffer.from(JSON.stringify(value));
  const { event_time, ...rest } = envelope();
  for (let index = 0; index < 4; index += 1) {
    const text = { ...rest, event_time: String(event_time + index), business_id: businessIds[index % 2] };
    await quarantine.keep({
      path: paths.receipt,
      reason: 'invalid',
      errors: [{ path: '/event_time', message: 'Invalid input: expected number, received string' }],
      body: body(text),
    });
  }
  for (let index = 0; index < 2; index += 1) {
    // Valid today.
    const valid = { ...envelope(), data: { ...envelope().data, receipt_id: 900_001 + index } };
    await quarantine.keep({
      path: paths.receipt,
      reason: 'invalid',
      errors: [{ path: '/data/receipt_id', message: 'is required' }],
      body: body(valid),
    });
  }
  await quarantine.keep({
    path: paths.consent_form,
    reason: 'not_json',
    errors: [{ path: '', message: 'The body is not valid JSON.' }],
    body: Buffer.from(`<html>${randomUUID()}</html>`),
  });
  await quarantine.drained();
}
