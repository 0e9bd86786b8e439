import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Config } from '../config.ts';
import type { Family } from '../families/index.ts';
import type { Intake } from '../intake/intake.ts';
import type { Log } from '../log.ts';
import type { AccessChecks } from './access/access-checks.ts';
import type { BodyBudget } from './body-budget.ts';
import { SenderGone } from './errors.ts';
import { bodySize, readBody, requireJson, requirePost } from './read-body.ts';
import { sendJson, sendProblem } from './responses.ts';

export type Handler = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

/** Told of every request. */
export interface HttpObserver {
  /** A request at a registered path: `gone` where the sender did not wait for the response. */
  responded: (family: string, status: number | 'gone', seconds: number) => void;
  /** A request at any other path. */
  strayed: (status: number) => void;
}

export interface CallbackDependencies {
  config: Pick<Config, 'bodyLimitBytes'>;
  access: AccessChecks;
  bodies: Pick<BodyBudget, 'enter'>;
  intake: Pick<Intake, 'receive'>;
  observe?: Pick<HttpObserver, 'responded'> | undefined;
  log: Log;
}

/**
 * Receives the callbacks of one family (service-interface section 4.5): a 200 says that the delivery is
 * durable. It needs nothing of Express, so it can be mounted anywhere that has Node's request and response.
 */
export function createCallbackHandler(family: Family, dependencies: CallbackDependencies): Handler {
  const { config, access, bodies, intake, observe, log } = dependencies;

  const receive = async (req: IncomingMessage) => {
    requirePost(req);
    const verify = access.authorize(req);
    requireJson(req);
    // Node buffers what waits: a piece of a body, or thousands of chunks of one byte each.
    const mayWait = req.headers['transfer-encoding'] === undefined;
    const leave = await bodies.enter(bodySize(req, config.bodyLimitBytes), mayWait);
    try {
      const body = await readBody(req, config.bodyLimitBytes);
      verify(body);
      return await intake.receive(body, family);
    } finally {
      leave();
    }
  };

  return async (req, res) => {
    const started = performance.now();
    let status: number | 'gone' = 200;
    try {
      const accepted = await receive(req);
      sendJson(res, status, accepted);
      log.debug({ delivery: accepted.id, status: accepted.status }, 'callback received');
    } catch (raised) {
      if (raised instanceof SenderGone) {
        status = 'gone';
        return;
      }
      const error = access.recordRejection(req, raised);
      status = sendProblem(res, error);
      if (status === 500) log.error({ err: error, family: family.name }, 'a callback could not be handled');
      else {
        // An outage is reported once, by its circuit, and counted by a metric.
        const level = status === 503 ? 'debug' : 'info';
        log[level]({ status, reason: (error as Error).name, family: family.name }, 'callback rejected');
      }
    } finally {
      observe?.responded(family.name, status, (performance.now() - started) / 1000);
    }
  };
}
