import type { Rejection } from '../../src/callbacks/rejection.ts';
import type { AccessRules } from '../../src/common/config/config.ts';
import type { Limits, Times } from '../../src/common/config/limits.ts';
import { createLog } from '../../src/common/log.ts';
import { createAccessChecks } from '../../src/receiver/http/access.ts';
import { createCallbacks } from '../../src/receiver/http/handle-callback.ts';
import { createApp, listen } from '../../src/receiver/http/server.ts';
import type { Intake } from '../../src/receiver/intake/intake.ts';
import type { Route } from '../../src/receiver/intake/quarantine-body.ts';
import type { ReceiveResult } from '../../src/receiver/intake/store-delivery.ts';
import { closeLater } from './close-later.ts';
import { post, testConfig } from './service.ts';

export const id = '018f0000-0000-8000-8000-000000000001';

interface Options {
  authentication?: Partial<AccessRules>;
  paths?: Record<string, string[]>;
  times?: Partial<Times>;
  limits?: Partial<Limits>;
  now?: () => number | undefined;
  receive?: (body: Buffer, route: Route) => Promise<{ status: ReceiveResult; id: string }>;
  reject?: () => Promise<void>;
}

/** A server with a fake intake, which notes what it is given. */
export async function serve(options: Options = {}) {
  const received: { body: Buffer; route: Route }[] = [];
  const kept: { body: Buffer; reason: string }[] = [];
  const lines: { level: number; err?: object }[] = [];
  const log = createLog('debug', { write: (line) => lines.push(JSON.parse(line)) });
  const config = testConfig({
    authentication: { signatureHeader: 'X-Signature', signatureToleranceS: 300, ...options.authentication },
    paths: options.paths ?? { receipts: ['/receipts'] },
    bodyLimitBytes: 1_000,
    times: { keepAliveMs: 3_600_000, requestMs: 60_000, ...options.times },
    limits: { connections: 100, rejectionsPerMinute: 1_000, ...options.limits },
  });
  const access = createAccessChecks(config, options.now ?? Date.now, log);
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
  const callbacks = createCallbacks({ config, access, intake: intake as Partial<Intake> as Intake, log });
  const { url, stop } = await listen(callbacks, createApp([], log), config);
  closeLater(stop);
  const send = (body: string | Buffer, headers: Record<string, string> = {}, path = '/receipts') =>
    post(url + path, body, headers);
  return { url, post: send, received, kept, lines, stop, warning: access.warning };
}
