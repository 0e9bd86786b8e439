import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import type { z } from 'zod';
import { logReading } from '../changes/log-reading.ts';
import type { Page } from '../changes/page.ts';
import { querySchema } from '../changes/query-schema.ts';
import { type Feed, FeedUnavailable } from '../changes/start-feed.ts';
import { networkList } from '../common/address.ts';
import type { Observer } from '../common/observer.ts';
import type { RateLimit } from '../common/rate-limit.ts';
import { isSameSecret } from '../common/secret.ts';
import type { Config } from '../config/config.ts';
import type { Family } from '../families/index.ts';
import { isUnavailable } from '../store/faults.ts';
import type { Db } from '../store/tables.ts';
import { addressOf } from './access/address.ts';
import { bearerOf } from './admin.ts';
import { AddressNotAllowed, NotAdmin, QueryInvalid } from './errors.ts';
import { streamChanges } from './stream-changes.ts';

export interface ChangesDependencies {
  config: Pick<Config, 'authentication'> & { changes: NonNullable<Config['changes']> };
  families: readonly Family[];
  feed: Feed;
  /** Where it is logged who has read personal data. */
  db: Db;
  /** The limit of wrong tokens per address. */
  attempts: RateLimit;
  observe?: Pick<Observer, 'streams'> | undefined;
}

/** The route of the feed of changes: pages as JSON, or a stream of server-sent events. See docs/changes.md. */
export function createChanges(dependencies: ChangesDependencies): RequestHandler {
  const { config, families, feed, db, observe } = dependencies;
  const authorize = createAuthorize(dependencies);
  const schema = querySchema(families.map(({ name }) => name));
  let streams = 0;

  return async (req, res) => {
    const { token, isPublic } = authorize(req);
    const { address, name } = {
      address: addressOf(req, config.authentication.trustProxy),
      name: nameOf(token),
    };
    const parsed = schema.safeParse(req.query);
    if (!parsed.success) throw new QueryInvalid(describe(parsed.error));
    const { after, families: names, business_id: businessId, limit, fields } = parsed.data;
    const isWithoutPersonal = isPublic || fields === 'public';
    const query = {
      families: families.filter((family) => names.length === 0 || names.includes(family.name)),
      businessId,
      limit,
      isPublic: isWithoutPersonal,
    };
    const actor = { id: 'changes-token', name, address };
    const read = async (cursor: string | undefined): Promise<Page> => {
      const page = await feed.read({ ...query, after: cursor }).catch(unavailable);
      if (!isWithoutPersonal) await logReading(db, page, actor, { families: names, businessId });
      return page;
    };
    if (!(req.accepts(['json', 'text/event-stream']) === 'text/event-stream'))
      return sendPage(res, await read(after));
    if (streams >= config.changes.streams) throw new FeedUnavailable();
    streams += 1;
    observe?.streams?.(streams);
    try {
      const last = req.headers['last-event-id'];
      await streamChanges(res, last === undefined ? after : String(last), {
        read,
        feed,
        limits: config.changes,
      });
    } finally {
      streams -= 1;
      observe?.streams?.(streams);
    }
  };
}

/** @throws FeedUnavailable instead of the error of a database that is unavailable */
function unavailable(error: unknown): never {
  throw isUnavailable(error) ? new FeedUnavailable(undefined, { cause: error }) : error;
}

function sendPage(res: ServerResponse, { changes, next, more }: Page): void {
  const body = `{"changes":[${changes.map(({ json }) => json).join(',')}],"next":"${next}","more":${more}}`;
  const length = String(Buffer.byteLength(body));
  res.writeHead(200, [
    'Content-Type',
    'application/json',
    'Content-Length',
    length,
    'Cache-Control',
    'no-store',
  ]);
  res.end(body);
}

/** Names a token without telling it. */
const nameOf = (token: string) => createHash('sha256').update(token).digest('hex').slice(0, 12);

/** @returns the token of a request @throws AddressNotAllowed, TooManyRequests, NotAdmin */
function createAuthorize({ config: { authentication, changes }, attempts }: ChangesDependencies) {
  const isAllowed = networkList(changes.allowedIps);
  return (req: IncomingMessage) => {
    const address = addressOf(req, authentication.trustProxy);
    if (changes.allowedIps.length > 0 && !isAllowed(address)) throw new AddressNotAllowed();
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
