import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express, { type NextFunction, type Request, type Response } from 'express';
import { injectFaults, sendError } from './faults.ts';
import { operations } from './platform-operations.ts';
import { newRecords, type Records, recordOperations } from './platform-records.ts';

/** An unsigned JWT. */
export const sandboxToken = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJzYW5kYm94In0.sandbox';

/** For its login. */
export const sandboxCredentials = { clientId: 'sandbox-client', clientSecret: 'sandbox-secret' };

const maxRequests = 1_000;

export interface SandboxOptions {
  /** Default: 127.0.0.1. */
  readonly host?: string;
  /** Default: 0, any free port. */
  readonly port?: number;
  /** Default: sandboxToken. */
  readonly tokens?: readonly string[];
  /** Default: svc. */
  readonly serviceIdentifierField?: string;
  readonly records?: Records | undefined;
}

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: unknown;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
}

export interface Sandbox {
  readonly url: string;
  /** The last 1000 requests, oldest first. */
  readonly requests: readonly ReceivedRequest[];
  readonly records: Records;
  /** Replaces the tokens, those of logins too. */
  readonly accept: (tokens: readonly string[]) => void;
  readonly close: () => Promise<void>;
}

/** A simulated platform, with the faults and magic values of docs/sandbox.md. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  let tokens = new Set(options.tokens ?? [sandboxToken]);
  const requests: ReceivedRequest[] = [];
  const records = options.records ?? newRecords();
  const faults = injectFaults();

  const app = express().disable('x-powered-by');
  app.use(express.json());
  app.use((request, _, next) => {
    const { method, path, query, headers, body } = request;
    requests.push({ method, path, query, headers, body });
    if (requests.length > maxRequests) requests.shift();
    // The fault's prefix; originalUrl keeps it.
    request.url = request.url.replace(/^\/fault-[^/?]+(?=\/)/, '');
    next();
  });
  app.post('/connect-auth/v1/account/login', faults, ({ body }, response) => {
    const { clientId, clientSecret } = sandboxCredentials;
    if (body?.client_id !== clientId || body.client_secret !== clientSecret)
      return sendError(response, 401, 'UNAUTHORIZED', 'wrong client_id or client_secret');
    const access_token = `sandbox-${randomUUID()}`;
    tokens.add(access_token);
    response.json({ access_token, expires_in: 3_600 });
  });
  app.use((request, response, next) => {
    const bearer = /^Bearer (.+)$/i.exec(request.get('authorization') ?? '')?.[1];
    // The older operations.
    const token = request.path.startsWith('/dr/') ? request.get('auth') : bearer;
    if (token !== undefined && tokens.has(token)) return next();
    response.set('WWW-Authenticate', 'Bearer');
    sendError(response, 401, 'unauthorized', 'a valid bearer token is required');
  });
  app.use(faults);
  app.use(operations(options.serviceIdentifierField ?? 'svc'));
  app.use(recordOperations(records));
  app.use((_, response) => sendError(response, 404, 'not_found', 'no such operation'));
  app.use((error: { status?: number }, _: Request, response: Response, next: NextFunction) => {
    if (response.headersSent) return next(error);
    sendError(response, error.status ?? 500, 'unreadable_request', 'the request could not be read');
  });

  const server = app.listen(options.port ?? 0, options.host ?? '127.0.0.1');
  await once(server, 'listening');
  const { address, port, family } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    requests,
    records,
    accept: (accepted) => {
      tokens = new Set(accepted);
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      // A hanging response would keep its connection, and so the server, open for ever.
      server.closeAllConnections();
      await closed;
    },
  };
}
