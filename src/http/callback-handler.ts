import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../common/log.ts';
import { requestSeconds, requests } from '../common/metrics.ts';
import type { Config } from '../config/config.ts';
import { Unavailable } from '../intake/delivery.ts';
import type { Intake, Route } from '../intake/intake.ts';
import type { Access } from '../receiver/http/access.ts';
import { RequestAborted, UnsupportedMedia } from '../receiver/http/errors.ts';
import { adviceOnMedia, readBody, requirePost } from '../receiver/http/read-body.ts';
import { sendJson, sendProblem } from './responses.ts';

export type Handler = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

export interface CallbackDependencies {
  config: Pick<Config, 'bodyLimitBytes'>;
  access: Access;
  intake: Pick<Intake, 'receive'>;
  /** Called with the name of the error of each callback that gets a 4xx. */
  onRejected: (reason: string) => void;
  log: Log;
}

/**
 * Receives the callbacks of one registered path (service-interface section 4.5): a 200 means that the delivery is
 * durable. It uses nothing of Express, so it runs on any server that has Node's request and response.
 */
export function createCallbackHandler(route: Route, dependencies: CallbackDependencies): Handler {
  const { family } = route;
  const { config, access, intake, onRejected, log } = dependencies;

  const receive = async (req: IncomingMessage) => {
    requirePost(req);
    const verify = access.authorize(req);
    const advice = adviceOnMedia(req);
    if (advice !== undefined) throw new UnsupportedMedia(advice);
    const body = await readBody(req, config.bodyLimitBytes);
    verify(body);
    return intake.receive(body, route);
  };

  return async (req, res) => {
    const started = performance.now();
    let status: number | 'aborted' = 200;
    try {
      const { id, status: result } = await receive(req);
      sendJson(res, status, { status: result, id });
      log.debug({ delivery: id, status: result }, 'callback received');
    } catch (raised) {
      if (raised instanceof RequestAborted) {
        status = 'aborted';
        return;
      }
      const error = access.recordRejection(req, raised);
      status = sendProblem(res, error);
      const delivery = raised instanceof Unavailable ? raised.delivery : undefined;
      const { name: reason } = error as Error;
      if (status < 500) onRejected(reason);
      const kind = { status, family: family.name, reason };
      if (status === 500) log.limited('error', kind, 'callback failed', { err: error });
      // The circuit logs an outage once, and a metric counts the responses.
      else if (status === 503) log.debug({ ...kind, delivery }, 'callback rejected');
      else log.limited('info', kind, 'callback rejected', { delivery });
    } finally {
      const seconds = (performance.now() - started) / 1000;
      requests.inc({ family: family.name, status });
      requestSeconds.observe({ status }, seconds);
    }
  };
}
