import { type Family, pathsOf } from '../../src/callbacks/families/family.ts';
import { families } from '../../src/callbacks/families/index.ts';
import { type Config, parseConfig } from '../../src/common/config/config.ts';

// A slow machine is no outage; tests of outages set what they need.
const timeLimits = { databaseMs: 60_000, redisMs: 30_000, readinessMs: 60_000 };

interface Overrides extends Partial<Omit<Config, 'authentication'>> {
  authentication?: Partial<Config['authentication']>;
}

/** The configuration of a test's service: a free port, long time limits, and the overrides. */
export function testConfig(
  { authentication, ...overrides }: Overrides = {},
  list: readonly Family[] = families,
): Config {
  const config = parseConfig({ PORT: '0', LOG_LEVEL: 'silent' }, list.map(pathsOf));
  return {
    ...{ ...config, drainMs: 0, timeLimits, ...overrides },
    authentication: { ...config.authentication, ...authentication },
  };
}

export function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
  });
}
