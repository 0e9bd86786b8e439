import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Router } from 'express';
import { UnsupportedMedia } from '../../callbacks/rejection.ts';
import type { Config } from '../../common/config/config.ts';
import type { Log } from '../../common/log.ts';
import type { Intake } from '../intake/intake.ts';
import type { Route } from '../intake/quarantine-body.ts';
import { requestSeconds, requests } from '../metrics.ts';
import { Unavailable } from '../store/errors.ts';
import type { AccessChecks } from './access.ts';
import { adviceOnMedia, readBody, requirePost } from './read-body.ts';
import { callbackStatuses, RequestAborted, sendJson, sendProblem } from './responses.ts';

export interface CallbackDependencies {
  config: Config;
  access: AccessChecks;
  intake: Intake;
  log: Log;
}

/** A registered path, in which `:` or `*` are only characters, as a pattern of Express. */
const literal = (path: string) => path.replace(/[{}()[\]+?!*:\\]/g, '\\$&');

/**
 * The registered paths (service-interface section 4.5), each matched exactly: with its case and its last slash, whatever
 * the query. It uses nothing of an Express app, so it stands on Node's own server: an app costs more than the rest of a
 * callback's handling.
 */
export function createCallbacks(dependencies: CallbackDependencies): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  for (const [family, paths] of Object.entries(dependencies.config.paths)) {
    // A rate ignores the first sample of a new series, so an alert would miss the first error.
    for (const status of callbackStatuses) requests.inc({ family, status }, 0);
    for (const path of paths) router.all(literal(path), createHandler({ path, family }, dependencies));
  }
  return router;
}

/** Receives the callbacks of one path: a 200 means that the delivery is durable. */
function createHandler(route: Route, { config, access, intake, log }: CallbackDependencies) {
  const { family } = route;

  const receive = async (req: IncomingMessage) => {
    requirePost(req);
    const verify = access.authorize(req);
    const body = await readBody(req, config);
    verify(body);
    const advice = adviceOnMedia(req);
    // It is kept like any body that passed the access checks and cannot be read.
    if (advice) throw await intake.reject(new UnsupportedMedia(advice), body, route);
    return intake.receive(body, route);
  };

  const respondTo = (req: IncomingMessage, res: ServerResponse, thrown: unknown) => {
    const error = access.recordRejection(req, thrown);
    const { status, isKnown } = sendProblem(res, error);
    const delivery = thrown instanceof Unavailable ? thrown.delivery : undefined;
    const kind = { status, family, reason: error instanceof Error ? error.name : typeof error };
    if (!isKnown) log.limited('error', kind, 'callback failed', { err: error });
    // The circuit logs an outage once, and a metric counts the responses.
    else if (status === 503) log.debug({ ...kind, delivery }, 'callback rejected');
    else log.limited('info', kind, 'callback rejected', {});
    return status;
  };

  return async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const started = performance.now();
    let status: number | 'aborted' = 200;
    try {
      const { id, status: result } = await receive(req);
      sendJson(res, status, { status: result, id });
      log.debug({ delivery: id, status: result }, 'callback received');
    } catch (error) {
      status = error instanceof RequestAborted ? 'aborted' : respondTo(req, res, error);
    } finally {
      requests.inc({ family, status });
      requestSeconds.observe({ status }, (performance.now() - started) / 1000);
    }
  };
}
