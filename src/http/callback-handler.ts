import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import type { Config } from '../config.ts';
import type { AnyEnvelope, Family } from '../families/index.ts';
import type { Receipt } from '../intake/delivery.ts';
import type { Drift } from '../intake/drift.ts';
import { identify, milliseconds } from '../intake/identity.ts';
import type { Inbox } from '../intake/inbox.ts';
import type { Quarantine } from '../intake/quarantine.ts';
import type { Log } from '../log.ts';
import { answer, answerProblem } from './responses.ts';
import type { BodyBudget } from './body-budget.ts';
import type { Door } from './access/access-checks.ts';
import { SenderGone } from './errors.ts';
import { misfitOf } from '../intake/rejection.ts';
import { parseCallback } from '../intake/parse-callback.ts';
import { bodySize, readBody, requireJson, requirePost } from './read-body.ts';

export type Handler = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

/** Told of every request. */
export interface HttpObserver {
  /** A request at a registered path: `gone` where the sender did not wait for the answer. */
  answered: (family: string, status: number | 'gone', seconds: number) => void;
  /** A request at any other path. */
  strayed: (status: number) => void;
  /** A delivery that was stored. */
  takenIn: (family: string, receipt: Receipt, eventTimeMs: number) => void;
}

export interface CallbackParts {
  config: Pick<Config, 'bodyLimitBytes' | 'paths'>;
  schema: z.ZodType<AnyEnvelope>;
  door: Door;
  bodies: Pick<BodyBudget, 'enter'>;
  inbox: Pick<Inbox, 'append'>;
  quarantine: Pick<Quarantine, 'keep'>;
  drift: Pick<Drift, 'observe'>;
  observe?: Pick<HttpObserver, 'answered' | 'takenIn'> | undefined;
  log: Log;
}

/**
 * Takes in the callbacks of one family (service-interface section 4.5): a 200 says that the delivery is
 * durable. It needs nothing of Express, so it can be mounted anywhere that has Node's request and response.
 */
export function createCallbackHandler(family: Family, parts: CallbackParts): Handler {
  const { config, schema, door, bodies, inbox, quarantine, drift, observe, log } = parts;

  const takeIn = async (body: Buffer) => {
    const envelope = parseCallback(body, schema, Date.now(), family);
    door.checkParties(envelope);
    const id = identify(envelope);
    const status = await inbox.append({ id, family: family.name, body });
    drift.observe(id, envelope);
    observe?.takenIn(family.name, status, milliseconds(envelope.event_time));
    return { status, id };
  };

  return async (req, res) => {
    const started = performance.now();
    let status: number | 'gone' = 200;
    let leave = () => {};
    try {
      requirePost(req);
      door.admit(req);
      requireJson(req);
      // What waits is held by Node meanwhile: a piece of a body, or thousands of chunks of one byte each.
      const mayWait = req.headers['transfer-encoding'] === undefined;
      leave = await bodies.enter(bodySize(req, config.bodyLimitBytes), mayWait);
      const body = await readBody(req, config.bodyLimitBytes);
      door.authenticate(req, body);
      const accepted = await takeIn(body).catch(async (error) => {
        const misfit = misfitOf(error);
        if (misfit) await quarantine.keep({ path: config.paths[family.name]!, body, ...misfit });
        throw error;
      });
      answer(res, status, accepted);
      log.debug({ delivery: accepted.id, status: accepted.status }, 'callback taken in');
    } catch (raised) {
      if (raised instanceof SenderGone) {
        status = 'gone';
        return;
      }
      const error = door.recordRejection(req, raised);
      status = answerProblem(res, error);
      if (status === 500) log.error({ err: error, family: family.name }, 'a callback could not be handled');
      else {
        // An outage is reported once, by its circuit, and counted by a metric.
        const level = status === 503 ? 'debug' : 'info';
        log[level]({ status, reason: (error as Error).name, family: family.name }, 'callback refused');
      }
    } finally {
      leave();
      observe?.answered(family.name, status, (performance.now() - started) / 1000);
    }
  };
}
