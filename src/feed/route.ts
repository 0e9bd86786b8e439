import { createHash } from 'node:crypto';
import { Router } from 'express';
import { z } from 'zod';
import { isSameSecret } from '../common/secret.ts';
import { addressOf } from '../receiver/http/address.ts';
import { CursorUnknown, NotAdmin, QueryInvalid } from '../receiver/http/errors.ts';
import { send } from '../receiver/http/responses.ts';
import { cursorOf, type FeedCore, familiesInFeed, readHead, readPage } from './page.ts';

/** `GET /changes`: a page of the feed as JSON; without CHANGES_TOKENS it does not exist. See docs/changes.md. */
export function createRoute(core: FeedCore): Router {
  const { changes: configured, authentication } = core.config;
  const router = Router({ caseSensitive: true });
  if (!configured) return router;
  const schema = querySchema(familiesInFeed(core.families));

  router.get('/changes', async (req, res) => {
    const given = /^Bearer +(\S+)$/i.exec(req.headers.authorization ?? '')?.[1];
    const known = configured.tokens.find(({ token }) => given !== undefined && isSameSecret(given, token));
    if (!known) throw new NotAdmin('one of CHANGES_TOKENS');
    const { data, error } = schema.safeParse(req.query);
    const faults = error?.issues.map(({ path, message }) => [...path, message].join(': '));
    if (faults) throw new QueryInvalid(faults.join('; '));
    const at = await readHead(core.db);
    // Without a cursor one reads from the beginning.
    const [epoch, position = '0'] = data!.after?.split('.') ?? [at.epoch];
    const after = Number(position);
    // Who has seen more than there is has seen what a restored backup lacks.
    if (epoch !== at.epoch || after > at.head) throw new CursorUnknown();
    const name = createHash('sha256').update(known.token).digest('hex').slice(0, 12);
    const actor = { id: 'changes-token', name, address: addressOf(req, authentication.trustProxy) };
    const selection = { ...data!, is_public: known.isPublic };
    const range = { ...at, after, limit: data!.limit };
    const { changes, next, more } = await readPage(core, selection, actor, range);
    const items = changes.map(({ json }) => json).join();
    const end = `"next":"${cursorOf(at.epoch, next)}","more":${more}`;
    send(res, 200, 'application/json', `{"changes":[${items}],${end}}`);
  });
  return router;
}

/** Unknown parameters are errors: a selection that is misspelt would read everything. */
const querySchema = (families: string[]) =>
  z.strictObject({
    after: z.stringFormat('cursor', /^[0-9a-z-]{1,40}\.\d{1,15}$/).optional(),
    limit: z.coerce.number().int().min(1).max(1_000).default(500),
    families: z.preprocess((text = families) => String(text).split(','), z.array(z.enum(families))),
    business_id: z
      .string()
      .max(200)
      .refine((id) => !id.includes('\0'), 'must not contain U+0000')
      .nullable()
      .default(null),
  });
