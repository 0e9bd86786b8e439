import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { createLog } from '../../../src/common/log.ts';
import { checkRedis, RedisUnusable } from '../../../src/receiver/queue/redis.ts';
import { closeLater } from '../../support/close-later.ts';
import { startOwnRedis } from '../../support/fallback.ts';
import { selfSigned } from '../../support/self-signed.ts';

const log = createLog('silent');

it.each([
  ['the password is wrong', (url: string) => url.replace('//', '//:wrong@')],
  ['a password is missing', (url: string) => url],
  ['the number of the database is too large', (url: string) => `${url.replace('//', '//:secret@')}/99`],
])('the start is refused where %s', async (_, change) => {
  const redis = await startOwnRedis();
  await redis.client().config('SET', 'requirepass', 'secret');
  await expect(checkRedis(change(redis.url), log)).rejects.toThrow(RedisUnusable);
});

it('the start is refused where the certificate is not trusted', async () => {
  const server = createServer(selfSigned).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closeLater(() => server.close());
  const { port } = server.address() as AddressInfo;
  await expect(checkRedis(`rediss://127.0.0.1:${port}`, log)).rejects.toThrow(RedisUnusable);
});

it('the start is not refused where Redis accepts REDIS_URL, or is away', async () => {
  const redis = await startOwnRedis();
  await checkRedis(`${redis.url}/3`, log);
  redis.process.kill('SIGSTOP');
  await checkRedis(redis.url, log);
  await redis.stop();
  await checkRedis(redis.url, log);
});
