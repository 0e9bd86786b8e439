import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import type { Config } from '../config.ts';
import type { AnyEnvelope, Family } from '../families/index.ts';
import type { Drift } from '../inbox/drift.ts';
import { identify } from '../inbox/identity.ts';
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

export interface CallbackParts {
  config: Pick<Config, 'bodyLimitBytes' | 'paths'>;
  schema: z.ZodType<AnyEnvelope>;
  door: Door;
  inbox: Pick<Inbox, 'append'>;
  quarantine: Pick<Quarantine, 'keep'>;
  drift: Pick<Drift, 'observe'>;
  log: Log;
}

/**
 * Takes in the callbacks of one family (service-interface section 4.5): a 200 says that the delivery is
 * durable. It needs nothing of Express, so it can be mounted anywhere that has Node's request and response.
 */
export function createCallbackHandler(family: Family, parts: CallbackParts): Handler {
  const { config, schema, door, inbox, quarantine, drift, log } = parts;

  const takeIn = async (body: Buffer) => {
    const { envelope, json } = parseCallback(body, schema, family);
    door.checkParties(envelope);
    const id = identify(envelope);
    const status = await inbox.append({ id, family: family.name, json });
    drift.observe(id, envelope);
    return { status, id };
  };

  return async (req, res) => {
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
      answer(res, 200, accepted);
      log.debug({ delivery: accepted.id, status: accepted.status }, 'callback taken in');
    } catch (error) {
      if (error instanceof SenderGone) return;
      door.noticeRefusal(req, error);
      const status = answerProblem(res, error);
      if (status === 500) log.error({ err: error, family: family.name }, 'a callback could not be handled');
      else log.info({ status, reason: (error as Error).name, family: family.name }, 'callback refused');
    }
  };
}
