import { rateLimit, TooManyRequests } from '../../src/common/rate-limit.ts';
import { openRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

const wallTime = Date.now;
afterEach(() => {
  Date.now = wallTime;
});
const step = (minutes: number) => {
  Date.now = () => wallTime() + minutes * 60_000;
};

const isLimited = (limit: ReturnType<typeof rateLimit>, source = 'a') => {
  try {
    limit.check(source);
    return false;
  } catch (error) {
    expect(error).toBeInstanceOf(TooManyRequests);
    return true;
  }
};

it('lets exactly as many requests through as it says, alone and with receivers that share it', async () => {
  const alone = rateLimit('test', { points: 30, durationS: 60 }, undefined);
  for (let time = 0; time < 30; time += 1) alone.consume('a');
  expect(() => alone.consume('a')).toThrow(TooManyRequests);

  const redis = await openRedis();
  const limits = [1, 2].map(() =>
    rateLimit('{receiver}:exact', { points: 4, durationS: 60 }, redis.client()),
  );
  for (const limit of [...limits, ...limits]) limit.consume('a');
  await until(() => limits.some((limit) => isLimited(limit)));
  await redis.stop();
});

it.each([
  ['ahead and then corrected', 10, 0],
  ['back and then corrected', -10, 0],
  ['ahead', 0, 10],
  ['back', 0, -10],
])('a limit ends after its period even if the clock is stepped %s', async (_, first, then) => {
  const limit = rateLimit('test', { points: 2, durationS: 1 }, undefined);
  step(first);
  for (let time = 0; time < 2; time += 1) limit.consume('a');
  await until(() => isLimited(limit));
  step(then);
  await until(() => !isLimited(limit));
  limit.consume('a');
  expect(isLimited(limit)).toBe(false);
});

it.each([10, -10])('a limit does not end early when the clock is stepped by %i minutes', async (minutes) => {
  const limit = rateLimit('test', { points: 2, durationS: 60 }, undefined);
  for (let time = 0; time < 2; time += 1) limit.consume('a');
  await until(() => isLimited(limit));
  step(minutes);
  expect([isLimited(limit), isLimited(limit, 'b')]).toEqual([true, false]);
  try {
    limit.check('a');
  } catch (error) {
    expect((error as TooManyRequests).retryAfterS).toBeLessThanOrEqual(60);
  }
});

it('addresses of one /64 of IPv6 share a limit, those of another do not', () => {
  const limit = rateLimit('test', { points: 3, durationS: 60 }, undefined);
  for (const host of ['1', '2', 'ffff:1:2']) limit.consume(`2001:db8:0:7::${host}`);
  expect(['2001:db8:0:7::9', '2001:db8:0:8::1'].map((address) => isLimited(limit, address))).toEqual([
    true,
    false,
  ]);
});

it('counts in memory while Redis is unavailable, and evicts the oldest of too many sources', async () => {
  const redis = await openRedis();
  const client = redis.client();
  const limit = rateLimit('test', { points: 1, durationS: 60 }, client);
  client.disconnect();
  for (let source = 0; source < 10_001; source += 1) limit.consume(String(source));
  expect(isLimited(limit, '10000')).toBe(true);
  expect(isLimited(limit, '0')).toBe(false);
  await redis.stop();
});
