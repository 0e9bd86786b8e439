import { existsSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import type { Cluster } from './cluster.ts';

export function urlOf({ password }: Cluster, port: number, database = 'receiver'): string {
  return `postgresql://receiver:${password}@127.0.0.1:${port}/${database}`;
}

/** Whether a database takes connections. */
export async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}

/** Creates the database `receiver` where it is not there yet. */
export async function createDatabase(cluster: Cluster, port: number): Promise<void> {
  const client = new pg.Client({ connectionString: urlOf(cluster, port, 'postgres') });
  await client.connect();
  try {
    const { rowCount } = await client.query(`select from pg_database where datname = 'receiver'`);
    if (rowCount === 0) await client.query('create database receiver');
  } finally {
    await client.end();
  }
}

/** The port of the last time, so that saved connections go on working, or a free one. */
export async function choosePort(home: string): Promise<number> {
  const file = join(home, 'port');
  const last = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
  return (await freePort(last)) ?? (await freePort(0))!;
}

function freePort(wanted: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(undefined));
    probe.listen(wanted, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve(port));
    });
  });
}
