import { pathsOf } from '../../src/callbacks/families/family.ts';
import { families } from '../../src/callbacks/families/index.ts';
import { type Config, parseConfig } from '../../src/common/config/config.ts';

// A slow machine is no outage; tests of outages set what they need.
const slow = { databaseMs: 60_000, redisMs: 30_000, readinessMs: 60_000, stopDelayMs: 0 };

type Parts = 'authentication' | 'limits' | 'times';
export type Overrides = Partial<Omit<Config, Parts>> & { [Part in Parts]?: Partial<Config[Part]> };

/** The configuration of a test's service: a free port, long time limits, and the overrides. */
export function testConfig({ authentication, limits, times, ...overrides }: Overrides = {}): Config {
  const config = parseConfig({ PORT: '0', LOG_LEVEL: 'silent' }, families.map(pathsOf));
  return {
    ...{ ...config, ...overrides },
    authentication: { ...config.authentication, ...authentication },
    limits: { ...config.limits, ...limits },
    times: { ...config.times, ...slow, ...times },
  };
}

export function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
  });
}
