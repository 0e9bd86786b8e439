import { createHash } from 'node:crypto';
import { Router } from 'express';
import { z } from 'zod';
import { isAuthorized } from '../common/secrets.ts';
import type { Core } from '../receiver/feature.ts';
import { addressOf } from '../receiver/http/access.ts';
import { CursorUnknown, NotAdmin, QueryInvalid, send } from '../receiver/http/responses.ts';
import { familiesInFeed, findPosition, readHead, readPage } from './read-changes.ts';

/** `GET /changes`: a page of the feed as JSON; without CHANGES_TOKENS it does not exist. See docs/changes.md. */
export function createChangesRoute(core: Core): Router {
  const { changes: configured, authentication } = core.config;
  const router = Router({ caseSensitive: true });
  if (!configured) return router;
  const schema = querySchema(familiesInFeed(core.families));

  router.get('/changes', async (req, res) => {
    const reader = configured.tokens.find(({ token }) => isAuthorized(req, token));
    if (!reader) throw new NotAdmin('Send the header Authorization: Bearer <one of CHANGES_TOKENS>.');
    const query = schema.safeParse(req.query);
    if (!query.success) {
      const faults = query.error.issues.map(({ path, message }) => [...path, message].join(': '));
      throw new QueryInvalid(faults.join('; '));
    }
    const head = await readHead(core.db);
    const { after: from = `${head.epoch}.0`, limit, ...selected } = query.data;
    const after = await findPosition(core.db, from, head);
    if (after === undefined)
      throw new CursorUnknown(
        'What follows this cursor is not known: a backup was restored, or it is another database. Read from the beginning, without after.',
      );
    const name = createHash('sha256').update(reader.token).digest('hex').slice(0, 12);
    const actor = { id: 'changes-token', name, address: addressOf(req, authentication.trustProxy) };
    const selection = { ...selected, is_public: reader.isPublic };
    const range = { ...head, after, limit };
    const { changes, cursor = from, more } = await readPage(core, selection, actor, range);
    const items = changes.map(({ json }) => json).join();
    const end = `"next":"${cursor}","more":${more}`;
    send(res, 200, 'application/json', `{"changes":[${items}],${end}}`);
  });
  return router;
}

/** Unknown parameters are errors: a selection that is misspelt would read everything. */
const querySchema = (families: string[]) =>
  z.strictObject({
    after: z.stringFormat('cursor', /^[0-9a-z-]{1,40}\.\d{1,15}(\.[0-9a-z]{1,12})?$/).optional(),
    limit: z.coerce.number().int().min(1).max(1_000).default(500),
    families: z.preprocess((text = families) => String(text).split(','), z.array(z.enum(families))),
    // PostgreSQL refuses U+0000 in a parameter.
    business_id: z
      .stringFormat('id', /^[^\0]{0,200}$/)
      .nullable()
      .default(null),
  });
