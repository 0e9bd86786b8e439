import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import type { Config } from '../config.ts';
import type { AnyEnvelope, Family } from '../families/index.ts';
import { identify } from '../inbox/identity.ts';
import type { Inbox } from '../inbox/inbox.ts';
import type { Log } from '../log.ts';
import { answer, answerProblem } from './answers.ts';
import { SenderGone } from './errors.ts';
import { parseCallback } from './parse-callback.ts';
import { readBody, requireJson, requirePost } from './read-body.ts';

export type Handler = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

export interface CallbackParts {
  config: Pick<Config, 'bodyLimitBytes'>;
  schema: z.ZodType<AnyEnvelope>;
  inbox: Pick<Inbox, 'append'>;
  log: Log;
}

/**
 * Takes in the callbacks of one family (service-interface section 4.5): a 200 says that the delivery is
 * durable. It needs nothing of Express, so it can be mounted anywhere that has Node's request and response.
 */
export function createCallbackHandler(
  family: Family,
  { config, schema, inbox, log }: CallbackParts,
): Handler {
  return async (req, res) => {
    try {
      requirePost(req);
      requireJson(req);
      const body = await readBody(req, config.bodyLimitBytes);
      const { envelope, json } = parseCallback(body, schema, family);
      const id = identify(envelope);
      const status = await inbox.append({ id, family: family.name, json });
      answer(res, 200, { status, id });
      log.debug({ delivery: id, event: envelope.event, status }, 'callback taken in');
    } catch (error) {
      if (error instanceof SenderGone) return;
      const status = answerProblem(res, error);
      if (status === 500) log.error({ err: error, family: family.name }, 'a callback could not be handled');
      else log.info({ status, reason: (error as Error).name, family: family.name }, 'callback refused');
    }
  };
}
