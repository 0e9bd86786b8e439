import type pg from 'pg';
import type { Config } from './config.ts';
import { describeDoor } from './http/door/describe.ts';
import { type ForwardedWatch, forwardedIgnored } from './http/door/forwarded.ts';
import type { HealthPart } from './http/health.ts';
import type { QueueBackend } from './queue/backend.ts';
import { within } from './within.ts';

/** What /readyz asks: PostgreSQL or else Redis has to answer, the rest is said for whoever looks. */
export function healthParts(
  config: Config,
  pool: pg.Pool,
  backend: QueueBackend,
  forwarded: ForwardedWatch,
): HealthPart[] {
  // Half the time that a part has, so that the other store can still be asked.
  const database = () => within(1_000, pool.query('select 1')).then(() => 'PostgreSQL');
  const refuge = () => backend.ping().then(() => 'Redis, until PostgreSQL is back');
  const access = () =>
    [describeDoor(config), ...(forwarded.isIgnored() ? [forwardedIgnored] : [])].join('; ');
  const durability = backend.refuge?.durability;
  return [
    {
      name: 'store',
      required: true,
      check: () => database().catch((e) => (backend.refuge ? refuge() : Promise.reject(e))),
    },
    { name: 'database', required: false, check: () => database().then(() => 'answers') },
    { name: 'queue', required: false, check: () => backend.ping().then(() => `on ${backend.name}`) },
    ...(durability
      ? [{ name: 'refuge', required: false, check: () => durability().then(({ detail }) => detail) }]
      : []),
    { name: 'access', required: false, check: async () => access() },
  ];
}
