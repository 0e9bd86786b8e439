import { withClient } from '../../src/store/pool.ts';
import { untilEmpty } from '../until-empty.ts';
import { scalar } from './postgres.ts';

/** Bytes of one database, and of the write-ahead log of its server since it was created. */
export interface Storage {
  wal: number;
  disk: number;
}

export function storageOf(databaseUrl: string): Promise<Storage> {
  return withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<Storage>(`
      select (pg_current_wal_insert_lsn() - '0/0')::float8 wal,
             pg_database_size(current_database())::float8 disk`);
    return rows[0]!;
  });
}

/**
 * The dead tuples that a vacuum removes from the table of deliveries, or has removed. No program may use the database:
 * sessions report their statistics when they end.
 */
export async function deadDeliveries(databaseUrl: string): Promise<number> {
  const sessions = `select count(*) from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`;
  const left = await untilEmpty(() => scalar(databaseUrl, sessions), 10);
  if (left > 0) throw new Error(`${left} sessions of the stopped programs have not ended`);
  return scalar(
    databaseUrl,
    `select sum(greatest(n_dead_tup, n_tup_upd + n_tup_del)) from pg_stat_user_tables
     where schemaname = 'public' and relname in ('inbox', 'deliveries')`,
  );
}
