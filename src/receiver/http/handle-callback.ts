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
import { BodyTooLarge, errorsOfCallbacks, MethodNotAllowed, sendJson, sendProblem } from './responses.ts';

interface Dependencies {
  config: Config;
  access: AccessChecks;
  intake: Intake;
  log: Log;
}

/** A registered path, in which `:` or `*` are only characters, as a pattern of Express. */
const literal = (path: string) => path.replace(/[{}()[\]+?!*:\\]/g, '\\$&');

/**
 * The registered paths (service-interface section 4.5), each matched exactly: with its case and its last slash, whatever the
 * query. On Node's own server: an Express app costs more than the rest of a callback's handling.
 */
export function createCallbacks(dependencies: Dependencies): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  for (const [family, paths] of Object.entries(dependencies.config.paths)) {
    // A rate ignores the first sample of a new series, so an alert would miss the first error.
    for (const status of [200, ...Object.keys(errorsOfCallbacks).map(Number)])
      requests.inc({ family, status }, 0);
    for (const path of paths) router.all(literal(path), createHandler({ path, family }, dependencies));
  }
  return router;
}

function createHandler(route: Route, { config, access, intake, log }: Dependencies) {
  const { family } = route;

  const receive = async (req: IncomingMessage) => {
    if (req.method !== 'POST') throw new MethodNotAllowed('This path accepts POST only.');
    const verify = access.authorize(req);
    const body = await readBody(req, config.bodyLimitBytes);
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

/** Advice to the sender; undefined: the body is plain JSON (service-interface section 4.5). */
function adviceOnMedia({ headers }: IncomingMessage): string | undefined {
  const { 'content-type': type = '', 'content-encoding': encoding = '' } = headers;
  if (!/^\s*application\/json\s*(;|$)/i.test(type)) return 'Send Content-Type: application/json.';
  if (/;\s*charset=/i.test(type) && !/;\s*charset="?utf-?8"?\s*(;|$)/i.test(type))
    return 'Send the JSON as UTF-8.';
  return /gzip|deflate|compress|br|zstd/i.test(encoding) ? 'Send the body without compression.' : undefined;
}

/** The sender closed the connection before its request was complete. */
class RequestAborted extends Error {}

const tooLarge = (limit: number) =>
  new BodyTooLarge(
    `The body is larger than ${limit} bytes. Health records may be: raise the receiver's BODY_LIMIT.`,
  );

/** @throws BodyTooLarge, RequestAborted */
async function readBody(req: IncomingMessage, limit: number): Promise<Buffer> {
  if (Number(req.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const read = (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size <= limit) return;
      chunks.length = 0;
      // The rest is read and dropped: a sender that is cut off while it still writes does not see the response.
      req.off('data', read).resume();
      reject(tooLarge(limit));
    };
    req.on('data', read);
    req.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
    req.on('error', () => reject(new RequestAborted()));
    req.on('close', () => {
      if (!req.complete) reject(new RequestAborted());
    });
  });
}
