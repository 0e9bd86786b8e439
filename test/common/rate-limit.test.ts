import { rateLimit, TooManyRequests } from '../../src/common/rate-limit.ts';

const isLimited = (limit: ReturnType<typeof rateLimit>, source: string) => {
  try {
    limit.check(source);
    return false;
  } catch (error) {
    expect(error).toBeInstanceOf(TooManyRequests);
    return true;
  }
};

it('lets exactly as many requests through as it says, and others after the period', () => {
  jest.useFakeTimers();
  const limit = rateLimit({ points: 30, durationS: 60 });
  for (let time = 0; time < 30; time += 1) limit.consume('a');
  expect(() => limit.consume('a')).toThrow(TooManyRequests);
  expect(isLimited(limit, 'b')).toBe(false);
  // A step of the system clock neither shortens nor extends a period.
  jest.setSystemTime(Date.now() + 600_000);
  expect(isLimited(limit, 'a')).toBe(true);
  jest.advanceTimersByTime(60_000);
  expect(isLimited(limit, 'a')).toBe(false);
  jest.useRealTimers();
});

it('addresses of one /64 of IPv6 share a limit, those of another do not', () => {
  const limit = rateLimit({ points: 3, durationS: 60 });
  for (const host of ['1', '2', 'ffff:1:2']) limit.consume(`2001:db8:0:7::${host}`);
  expect(isLimited(limit, '2001:db8:0:7::9')).toBe(true);
  expect(isLimited(limit, '2001:db8:0:8::1')).toBe(false);
  for (const group of ['1', '2', 'ffff']) limit.consume(`2001:db8::${group}:b:c:d`);
  expect(isLimited(limit, '2001:db8::9:b:c:d')).toBe(true);
  expect(isLimited(limit, '2001:db9::9:b:c:d')).toBe(false);
});

it('forgets all sources where there are too many', () => {
  const limit = rateLimit({ points: 1, durationS: 60 });
  for (let source = 0; source < 10_001; source += 1) limit.consume(String(source));
  expect(isLimited(limit, '0')).toBe(false);
  limit.consume('0');
  expect(isLimited(limit, '0')).toBe(true);
});
