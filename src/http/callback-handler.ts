import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import type { Config } from '../config.ts';
import type { AnyEnvelope, Family } from '../families/index.ts';
import type { Receipt } from '../inbox/delivery.ts';
import type { Drift } from '../inbox/drift.ts';
import { identify, milliseconds } from '../inbox/identity.ts';
import type { Inbox } from '../inbox/inbox.ts';
import type { Quarantine } from '../inbox/quarantine.ts';
import type { Log } from '../log.ts';
import { answer, answerProblem } from './answers.ts';
import type { Door } from './door/door.ts';
import { SenderGone } from './errors.ts';
import { misfitOf } from './misfit.ts';
import { parseCallback } from './parse-callback.ts';
import { readBody, requireJson, requirePost } from './read-body.ts';

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
  const { config, schema, door, inbox, quarantine, drift, observe, log } = parts;

  const takeIn = async (body: Buffer) => {
    const envelope = parseCallback(body, schema, family);
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
    try {
      requirePost(req);
      door.admit(req);
      requireJson(req);
      const body = await readBody(req, config.bodyLimitBytes);
      door.authenticate(req, body);
      const accepted = await takeIn(body).catch(async (error) => {
        const misfit = misfitOf(error);
        if (misfit) await quarantine.keep({ path: config.paths[family.name]!, body, ...misfit });
        throw error;
      });
      answer(res, status, accepted);
      log.debug({ delivery: accepted.id, status: accepted.status }, 'callback taken in');
    } catch (error) {
      if (error instanceof SenderGone) {
        status = 'gone';
        return;
      }
      door.noticeRefusal(req, error);
      status = answerProblem(res, error);
      if (status === 500) log.error({ err: error, family: family.name }, 'a callback could not be handled');
      else log.info({ status, reason: (error as Error).name, family: family.name }, 'callback refused');
    } finally {
      observe?.answered(family.name, status, (performance.now() - started) / 1000);
    }
  };
}
