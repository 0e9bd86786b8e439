import type { Server } from 'node:net';
import { join } from 'node:path';
import type { Log } from '../common/log.ts';
import { type Config, type Environment, parseConfig } from '../config/config.ts';
import { loadFamilies } from '../receiver/families/load.ts';
import { startReceiver } from '../receiver/receiver.ts';
import { prepare } from '../receiver/store/prepare.ts';
import { startEmbedded } from './open-stores.ts';
import { startParts } from './start-parts.ts';

/** The new path of a callback, on a database, a folder and a queue of its own. @throws InvalidConfiguration */
export async function openNewPath(env: Environment) {
  const families = await loadFamilies(env.FAMILIES || undefined);
  const parsed = parseConfig(
    env,
    families.map(({ name, events, path }) => ({ name, events: Object.keys(events), path })),
  );
  const config: Config = {
    ...parsed,
    dataDir: join(parsed.dataDir, 'new'),
    queuePrefix: `${parsed.queuePrefix}-new`,
  };
  /** On the database of DATABASE_URL. */
  const migrate = async (log: Log) => {
    const url = config.directDatabaseUrl ?? config.databaseUrl!;
    const { databaseMs: connectTimeoutMs } = config.timeLimits;
    const { signal } = new AbortController();
    const { reportTimezone: timezone } = config;
    await prepare({ url, families, timezone, connectTimeoutMs, canWait: false, signal, log });
  };
  const start = (log: Log, { reserved, signal }: { reserved: Server | undefined; signal: AbortSignal }) =>
    startParts(
      async (onStop) => {
        const databaseUrl = config.databaseUrl ?? (await startEmbedded(config, log, onStop));
        return startReceiver(config, { databaseUrl, families, log, reserved }, onStop);
      },
      log,
      signal,
    );
  return { config, migrate, start };
}
