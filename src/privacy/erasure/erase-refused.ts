import { sql } from 'kysely';
import type { Family } from '../../families/index.ts';
import type { Db } from '../../store/tables.ts';
import { sum } from '../counts.ts';
import { logAccess } from '../log/access-log.ts';
import { eraseMatching, findErased } from './apply-erasures.ts';
import type { ErasureOptions } from './erase.ts';
import { reopenCertificates } from './erasure-list.ts';
import { inStep } from './erasure-lock.ts';

/**
 * Erases deliveries that an erasure has not found although they are about what it erased: they had no state. Those of an
 * erasure that is running are left to it.
 *
 * @returns their number
 * @throws ErasureDelayed
 */
export async function eraseRefused(
  db: Db,
  families: readonly Family[],
  ids: readonly string[],
  { actor, ...settings }: Pick<ErasureOptions, 'actor' | 'keepMs'>,
): Promise<number> {
  if (ids.length === 0) return 0;
  const { erasures } = await findErased(db, sql`from inbox where id = any(${ids}::uuid[])`);
  const { rows } = await sql<{ id: string }>`select erasure_id as id from running_erasures`.execute(db);
  const running = new Set(rows.map(({ id }) => id));
  let erased = 0;
  for (const found of erasures.filter((one) => !running.has(one.erasure_id))) {
    await inStep(db, async (tx) => {
      const counts = await eraseMatching(tx, families, found, settings);
      await reopenCertificates(tx, sql`erasure_id = ${found.erasure_id}::uuid`);
      const filter = { erasure: found.erasure_id };
      await logAccess(tx, { actor, action: 'erase', filter, rows: sum(counts) });
    });
    erased += found.ids.length;
  }
  return erased;
}
