import { hash } from 'node:crypto';
import { sql } from 'kysely';
import { appointment } from '../families/appointment.ts';
import { idOf } from '../intake/identity.ts';
import type { Intake } from '../intake/intake.ts';
import { DataRefused } from '../receiver/intake/rejection.ts';
import type { Db } from '../store/tables.ts';
import type { Compared } from './compare.ts';

type Supplied = Pick<Compared, 'at' | 'content' | 'day' | 'comparedWith'>;

/**
 * The delivery of what was missing or differs. It has one id however often it is read: that of its content, together with the
 * delivery that it was compared with. The id's time is that of the booking, so that the retention and an erasure judge by it.
 */
function deliveryOf({ at, content }: Supplied, askedAt: Date) {
  const body = Buffer.from(`${content.slice(0, -1)}, "event_time": ${askedAt.getTime() / 1000}}`);
  return { id: idOf(at, hash('sha256', content)), family: appointment.name, body };
}

/**
 * Stores what was missing or differs as deliveries, and records them first: a delivery without a record would pass for a
 * callback. A repetition changes nothing.
 *
 * @returns how many are stored
 * @throws Unavailable
 */
export async function supply(
  db: Db,
  intake: Pick<Intake, 'store'>,
  business: string,
  found: readonly Supplied[],
  askedAt: Date,
): Promise<number> {
  if (found.length === 0) return 0;
  const deliveries = found.map((one) => ({ ...one, ...deliveryOf(one, askedAt) }));
  const records = JSON.stringify(deliveries.map(({ id, day, comparedWith }) => ({ id, day, comparedWith })));
  await sql`
    insert into reconciled_deliveries (id, business_id, family, day, compared_with)
    select id, ${business}, ${appointment.name}, day, "comparedWith"
    from jsonb_to_recordset(${records}::jsonb) as made (id uuid, day date, "comparedWith" uuid) order by id
    on conflict do nothing`.execute(db);
  const results = await Promise.all(
    deliveries.map(({ id, family, body }) =>
      intake.store({ id, family, body }).catch((error) => {
        if (error instanceof DataRefused) return 'refused' as const;
        throw error;
      }),
    ),
  );
  const isStored = (index: number) => results[index] === 'accepted' || results[index] === 'duplicate';
  const others = deliveries.flatMap(({ id }, index) => (isStored(index) ? [] : [id]));
  if (others.length > 0)
    await sql`delete from reconciled_deliveries where id = any(${others}::uuid[])`.execute(db);
  return deliveries.length - others.length;
}
