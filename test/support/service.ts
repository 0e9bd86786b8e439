import { createLog, type Log } from '../../src/common/log.ts';
import { type Config, parseConfig } from '../../src/config/config.ts';
import { type Family, families } from '../../src/families/index.ts';
import { type Service, startService } from '../../src/service/service.ts';
import { type TestDatabase, type UseOptions, useDatabase } from './database.ts';
import { until } from './until.ts';

export type ServiceOptions = Partial<Config> & { families?: readonly [Family, ...Family[]]; log?: Log };

// A slow machine is no outage; tests of outages set what they need.
const timeLimits = { databaseMs: 60_000, redisMs: 30_000, readinessMs: 60_000 };

/** The configuration of a test's service: a free port, long time limits, and the overrides. */
export function testConfig(
  overrides: Partial<Config>,
  list: readonly [Family, ...Family[]] = families,
): Config {
  return {
    ...parseConfig({ PORT: '0', LOG_LEVEL: 'silent' }, list),
    drainMs: 0,
    timeLimits,
    ...overrides,
  };
}

/** The real service, in this process, on a free port. */
export async function startTestService(options: ServiceOptions): Promise<Service & { url: string }> {
  const { families: list = families, log = createLog('silent'), ...overrides } = options;
  const config = testConfig(overrides, list);
  return (await startService(config, list, log)) as Service & { url: string };
}

export interface TestServices {
  database: TestDatabase;
  /** Starts a receiver, a worker or both. */
  start: (options?: ServiceOptions) => Promise<Service & { url: string }>;
}

/** A database as of `useDatabase`, or this one, and services on it, which are stopped after each test. */
export function useService({ on, ...options }: UseOptions & { on?: TestDatabase } = {}): TestServices {
  const services: Service[] = [];
  // Before the database is closed.
  afterEach(() => Promise.all(services.splice(0).map((service) => service.stop())));
  const database = on ?? useDatabase(options);
  const start = async (overrides: ServiceOptions = {}) => {
    const service = await startTestService({ databaseUrl: database.url, ...overrides });
    services.push(service);
    return service;
  };
  return { database, start };
}

/** The first response that is no 503: a machine that is busy may say first that a store does not answer in time. */
export const untilServed = (request: () => Promise<Response>): Promise<Response> =>
  until(
    async (): Promise<Response | undefined> => {
      const response = await request();
      return response.status === 503 ? undefined : response;
    },
    60_000,
    500,
  );

export function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
  });
}
