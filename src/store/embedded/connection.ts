import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withClient } from '../pool.ts';
import type { Cluster } from './cluster.ts';
import { freePort, isFree } from './free-port.ts';

export function urlOf({ password }: Cluster, port: number, database = 'receiver'): string {
  return `postgresql://receiver:${password}@127.0.0.1:${port}/${database}`;
}

/** Whether a database accepts connections. */
export function acceptsConnections(url: string): Promise<boolean> {
  return withClient(url, async () => true).catch(() => false);
}

/** Creates the database `receiver` unless it exists. */
export async function createDatabase(cluster: Cluster, port: number): Promise<void> {
  await withClient(urlOf(cluster, port, 'postgres'), async (client) => {
    const { rowCount } = await client.query(`select from pg_database where datname = 'receiver'`);
    if (rowCount === 0) await client.query('create database receiver');
  });
}

/** The previous port if it is free, so that saved connections stay valid, or another free one. */
export async function choosePort(home: string): Promise<number> {
  const file = join(home, 'port');
  const previous = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
  return previous > 0 && (await isFree(previous)) ? previous : freePort();
}
