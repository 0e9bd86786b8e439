import { join } from 'node:path';
import { buildPrograms } from './build.ts';
import { killPrograms } from './process/program.ts';
import { type BenchPostgres, startPostgres } from './stores/postgres.ts';
import { type BenchRedis, startRedis } from './stores/redis.ts';

export interface Session {
  postgres: BenchPostgres;
  redis: BenchRedis;
  say: (line: string) => void;
}

const folder = '.data/bench';

/** Builds the programs, and kills those that run when this process ends. */
export async function prepare(): Promise<void> {
  // The embedded PostgreSQL stops by itself.
  process.on('exit', killPrograms);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));
  await buildPrograms(join(folder, 'build'));
}

/** Builds the programs, starts the stores, runs, and stops everything. */
export async function withSession<T>(run: (session: Session) => Promise<T>): Promise<T> {
  const began = Date.now();
  const say = (line: string) => {
    process.stderr.write(`${((Date.now() - began) / 1000).toFixed(0).padStart(5)} s  ${line}\n`);
  };
  say('starting PostgreSQL and Redis');
  await prepare();
  const postgres = await startPostgres(join(folder, 'postgres'));
  try {
    const redis = await startRedis(join(folder, 'redis'));
    try {
      return await run({ postgres, redis, say });
    } finally {
      await redis.stop();
    }
  } finally {
    await postgres.stop();
    killPrograms();
  }
}
