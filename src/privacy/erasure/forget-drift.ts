import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../store/tables.ts';

/** Deletes differences whose values may be those of erased deliveries. */
export async function forgetDrift(
  tx: Db,
  isErased: (id: RawBuilder<unknown>) => RawBuilder<unknown>,
): Promise<void> {
  await sql`delete from schema_drift where kind in ('unknown', 'value') and ${isErased(sql`schema_drift.example_delivery`)}`.execute(
    tx,
  );
}
