import { sql } from 'kysely';
import { version } from '../common/version.ts';
import { withTimeout } from '../common/with-timeout.ts';
import type { Db } from '../store/tables.ts';

interface Fallback {
  readState: () => Promise<{ version: string | undefined }>;
}

const timeoutMs = 1_000;
const unknown = 'could not be read';

/** The versions of what a receiver consists of, and the last migration of its schema. @param fallback in Redis, if there is one */
export async function readVersions(db: Db, fallback: Fallback | undefined): Promise<Record<string, string>> {
  const query = sql<{ server: string; schema: string }>`
    select current_setting('server_version') as server,
      (select name from receiver_migrations where name ~ '^[0-9]' order by name desc limit 1) as schema`;
  const [database, redis] = await Promise.allSettled([
    query.execute(db).then(({ rows }) => rows[0]!),
    fallback && withTimeout(timeoutMs, fallback.readState()),
  ]);
  const { server, schema } =
    database.status === 'fulfilled' ? database.value : { server: unknown, schema: unknown };
  const inRedis = redis.status === 'fulfilled' ? redis.value?.version : undefined;
  return {
    Receiver: version,
    PostgreSQL: server,
    Schema: schema,
    ...(fallback && { Redis: inRedis ?? unknown }),
  };
}
