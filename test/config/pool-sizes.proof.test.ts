import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { parseConfig } from '../../src/config/config.ts';
import {
  defaultConnections,
  divideConnections,
  fewestConnections,
  poolsOf,
} from '../../src/config/pool-sizes.ts';
import { families } from '../../src/families/index.ts';
import { adminToken, signInTo } from '../console/visitor.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { createDatabase } from '../support/database.ts';
import { openRedis } from '../support/redis.ts';
import { post, startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const roles = ['all', 'receiver', 'worker'] as const;

it('the pools of a role never have more connections than DATABASE_CONNECTIONS, and each has one at least', () => {
  const queues = fc.constantFrom(undefined, 'redis://127.0.0.1');
  const limits = fc.integer({ min: fewestConnections, max: defaultConnections + 10 });
  fc.assert(
    fc.property(fc.constantFrom(...roles), queues, limits, (role, redisUrl, databaseConnections) => {
      const config = { role, redisUrl, databaseConnections };
      const divided = divideConnections(config);
      const sum = poolsOf(config).reduce((total, name) => total + divided[name], 0);
      const largest = divideConnections({ ...config, databaseConnections: defaultConnections });
      expect(sum).toBeLessThanOrEqual(databaseConnections);
      expect(Math.min(...Object.values(divided))).toBeGreaterThan(0);
      // What is not given to a pool is of no use to any.
      if (sum < databaseConnections) expect(divided).toEqual(largest);
    }),
  );
});

it('docs/database.md says how many connections each role needs', () => {
  const text = readFileSync('docs/database.md', 'utf8');
  const most = (role: (typeof roles)[number], redisUrl: string | undefined) => {
    const config = { role, redisUrl, databaseConnections: defaultConnections };
    const divided = divideConnections(config);
    return poolsOf(config).reduce((total, name) => total + divided[name], 0);
  };
  for (const role of roles) {
    expect(text).toMatch(
      new RegExp(`\\| \`${role}\` +\\| ${most(role, undefined)} +\\| ${most(role, 'redis://a')} +\\|`),
    );
  }
  expect(text).toContain(`(default ${defaultConnections}, at least ${fewestConnections})`);
});

it('a number of connections that is too small for a process is refused', () => {
  const parse = () => parseConfig({ DATABASE_CONNECTIONS: String(fewestConnections - 1) }, families);
  expect(parse).toThrow(
    expect.objectContaining({ problems: [`DATABASE_CONNECTIONS must be at least ${fewestConnections}`] }),
  );
});

it.each(['redis', 'postgresql'])(
  'under load a process with the queue on %s has no more connections than DATABASE_CONNECTIONS',
  async (backend) => {
    const redis = backend === 'redis' ? await openRedis() : undefined;
    const database = await createDatabase();
    const limit = fewestConnections;
    const config = {
      databaseUrl: database.url,
      redisUrl: redis?.url,
      databaseConnections: limit,
      adminToken,
    };
    const service = await startTestService({ ...config, sweep: { everyMs: 50, olderThanMs: 0 } });
    let isDone = false;
    const counts: number[] = [];
    const counting = (async () => {
      while (!isDone) {
        const [row] = await database.rows(
          `select count(*)::int as n from pg_stat_activity
           where datname = current_database() and application_name <> 'test'`,
        );
        counts.push(row!.n as number);
      }
    })();
    try {
      const visitor = await signInTo(service.url);
      const sending = Array.from({ length: 300 }, async (_, receipt_id) => {
        const callback = receiptCallback({ data: { receipt_id } });
        // A busy machine may exceed the time limit of a commit.
        await until(async () => (await post(`${service.url}${paths.receipt}`, callback)).ok);
        if (receipt_id % 10 === 0) await visitor.get('/deliveries');
      });
      await Promise.all(sending);
      await until(async () => (await database.rows('select from receipts')).length === 300);
      expect(Math.max(...counts)).toBeGreaterThan(limit / 2);
      expect(Math.max(...counts)).toBeLessThanOrEqual(limit);
    } finally {
      isDone = true;
      await counting;
      await service.stop();
      await database.close();
      await redis?.stop();
    }
  },
);
