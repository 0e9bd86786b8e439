import type { Rejection } from '../../src/callbacks/rejection.ts';
import { createLog } from '../../src/common/log.ts';
import { rateLimit } from '../../src/common/rate-limit.ts';
import { createAccess } from '../../src/receiver/http/access.ts';
import { createCallbacks } from '../../src/receiver/http/handle-callback.ts';
import { createApp, listen } from '../../src/receiver/http/server.ts';
import type { ReceiveResult, Route } from '../../src/receiver/intake/intake.ts';
import { testConfig } from './service.ts';

export const id = '018f0000-0000-8000-8000-000000000001';

const rules = {
  signingKeys: [] as string[],
  signatureHeader: 'X-Signature',
  signatureToleranceS: 300,
  allowedIps: [] as string[],
  allowedClientIds: [] as string[],
  allowedBusinessIds: [] as string[],
  allowUnauthenticated: true,
  trustProxy: 0,
};

interface Options {
  authentication?: Partial<typeof rules>;
  paths?: Record<string, string[]>;
  /** PostgreSQL's clock. */
  now?: () => number | undefined;
  rejections?: number;
  drainMs?: number;
  requestMs?: number;
  connections?: number;
  stopTimeoutMs?: number;
  receive?: (body: Buffer, route: Route) => Promise<{ status: ReceiveResult; id: string }>;
  reject?: () => Promise<void>;
}

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()));
});

/** A server with a fake intake, which notes what it is given. */
export async function serve(options: Options = {}) {
  const received: { body: Buffer; route: Route }[] = [];
  const kept: { body: Buffer; reason: string }[] = [];
  const lines: { level: number; err?: object }[] = [];
  const log = createLog('debug', { write: (line) => lines.push(JSON.parse(line)) });
  const paths = options.paths ?? { receipts: ['/receipts'] };
  const access = createAccess({
    config: testConfig({ authentication: { ...rules, ...options.authentication }, paths }),
    log,
    rejections: rateLimit({ points: options.rejections ?? 1_000, durationS: 60 }),
    clock: { now: options.now ?? (() => Date.now()) },
  });
  const intake = {
    receive: async (body: Buffer, route: Route) => {
      received.push({ body, route });
      return (await options.receive?.(body, route)) ?? { status: 'accepted' as const, id };
    },
    reject: async (rejection: Rejection, body: Buffer) => {
      await options.reject?.();
      kept.push({ body, reason: rejection.reason });
      return rejection;
    },
  };
  const callbacks = createCallbacks({
    config: testConfig({ bodyLimitBytes: 1_000, paths }),
    access,
    intake,
    log,
  });
  const limits = {
    connections: options.connections ?? 100,
    keepAliveMs: 3_600_000,
    requestMs: options.requestMs ?? 60_000,
  };
  const config = { host: '127.0.0.1', port: 0, drainMs: options.drainMs ?? 0, limits };
  const app = createApp({ routes: [], log });
  const { url, stop } = await listen(callbacks, app, config as never, options.stopTimeoutMs);
  stops.push(stop);
  const post = (body: string | Buffer, headers: Record<string, string> = {}, path = '/receipts') =>
    fetch(url + path, {
      method: 'POST',
      body: new Uint8Array(Buffer.from(body)),
      headers: { 'Content-Type': 'application/json', ...headers },
    });
  return { url, post, received, kept, lines, stop, warning: access.warning };
}
