import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import type { z } from 'zod';
import { familiesInFeed } from '../changes/families.ts';
import { logReading } from '../changes/log-reading.ts';
import { querySchema } from '../changes/query-schema.ts';
import { type Feed, FeedUnavailable } from '../changes/start-feed.ts';
import type { RateLimit } from '../common/rate-limit.ts';
import { isSameSecret } from '../common/secret.ts';
import type { Config } from '../config/config.ts';
import type { Family } from '../families/index.ts';
import { addressOf } from '../receiver/http/address.ts';
import { NotAdmin, QueryInvalid } from '../receiver/http/errors.ts';
import { isUnavailable } from '../store/faults.ts';
import type { Db } from '../store/tables.ts';
import { bearerOf } from './admin.ts';

export interface ChangesDependencies {
  config: Pick<Config, 'authentication'> & { changes: NonNullable<Config['changes']> };
  families: readonly Family[];
  feed: Pick<Feed, 'read'>;
  /** Where it is logged who has read personal data. */
  db: Db;
  /** The limit of wrong tokens per address. */
  attempts: RateLimit;
}

/** The route of the feed of changes: a page as JSON. See docs/changes.md. */
export function createChanges(dependencies: ChangesDependencies): RequestHandler {
  const { config, feed, db } = dependencies;
  const families = familiesInFeed(dependencies.families);
  const authorize = createAuthorize(dependencies);
  const schema = querySchema(families);

  return async (req, res) => {
    const { token, isPublic } = authorize(req);
    const parsed = schema.safeParse(req.query);
    if (!parsed.success) throw new QueryInvalid(describe(parsed.error));
    const { after, families: names, business_id: businessId, limit } = parsed.data;
    const wanted = families.filter((family) => names.length === 0 || names.includes(family.name));
    const page = await feed
      .read({ after, families: wanted, businessId, limit, isPublic })
      .catch(throwUnavailable);
    const actor = {
      id: 'changes-token',
      name: nameOf(token),
      address: addressOf(req, config.authentication.trustProxy),
    };
    if (!isPublic) await logReading(db, page, actor, { families: names, businessId });
    const { changes, next, more } = page;
    const body = `{"changes":[${changes.map(({ json }) => json).join(',')}],"next":"${next}","more":${more}}`;
    res.set('Cache-Control', 'no-store').type('json').send(body);
  };
}

/** @throws FeedUnavailable instead of the error of a database that is unavailable */
function throwUnavailable(error: unknown): never {
  throw isUnavailable(error) ? new FeedUnavailable(undefined, { cause: error }) : error;
}

/** Names a token without telling it. */
const nameOf = (token: string) => createHash('sha256').update(token).digest('hex').slice(0, 12);

/** @returns the token of a request @throws TooManyRequests, NotAdmin */
function createAuthorize({ config: { authentication, changes }, attempts }: ChangesDependencies) {
  return (req: IncomingMessage) => {
    const address = addressOf(req, authentication.trustProxy);
    attempts.check(address);
    const given = bearerOf(req);
    const known =
      given === undefined ? undefined : changes.tokens.find(({ token }) => isSameSecret(given, token));
    if (known) return known;
    if (given !== undefined) attempts.consume(address);
    throw new NotAdmin('one of CHANGES_TOKENS');
  };
}

const describe = (error: z.ZodError) =>
  error.issues
    .map(
      ({ path, message, ...issue }) =>
        `${String(path[0] ?? ('keys' in issue ? issue.keys : ''))}: ${message}`,
    )
    .join('; ');
