import { randomUUID } from 'node:crypto';
import type { RequestHandler, Response } from 'express';
import { z } from 'zod';
import { sendError } from './faults.ts';

const loginRequest = z.object({ client_id: z.string(), client_secret: z.string() });
const refreshRequest = z.object({ refresh_token: z.string() });

export interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The credentials that a sandbox accepts by default. */
export const sandboxCredentials: Credentials = { clientId: 'sandbox-client', clientSecret: 'sandbox-secret' };

/** Lifetimes in seconds. */
export interface Lifetimes {
  readonly access: number;
  readonly refresh: number;
}

/** Tokens that are valid for so many seconds. */
function tokensFor(lifetime: number, prefix: string) {
  const expiries = new Map<string, number>();
  const now = () => performance.now() / 1000;
  return {
    lifetime,
    issue(): string {
      for (const [token, expiry] of expiries) if (now() >= expiry) expiries.delete(token);
      const token = `${prefix}-${randomUUID()}`;
      expiries.set(token, now() + lifetime);
      return token;
    },
    isValid: (token: string) => now() < (expiries.get(token) ?? 0),
    revoke: (token: string) => void expiries.delete(token),
    revokeAll: () => expiries.clear(),
  };
}

/** The login, the refresh, and the tokens that they have issued. A refresh token is valid once. */
export function logins({ clientId, clientSecret }: Credentials, lifetimes: Lifetimes) {
  const access = tokensFor(lifetimes.access, 'sandbox');
  const refreshing = tokensFor(lifetimes.refresh, 'sandbox-refresh');

  const sendPair = (response: Response) =>
    void response.json({
      access_token: access.issue(),
      expires_in: access.lifetime,
      refresh_token: refreshing.issue(),
      refresh_expires_in: refreshing.lifetime,
    });

  const logIn: RequestHandler = ({ body }, response) => {
    const { success, data } = loginRequest.safeParse(body);
    if (!success) return sendError(response, 400, 'INVALID_REQUEST', 'client_id and client_secret: required');
    if (data.client_id === clientId && data.client_secret === clientSecret) return sendPair(response);
    sendError(response, 401, 'UNAUTHORIZED', 'wrong client_id or client_secret');
  };

  /** The bearer token has been checked. */
  const refresh: RequestHandler = (request, response) => {
    const { success, data } = refreshRequest.safeParse(request.body);
    if (!success) return sendError(response, 400, 'INVALID_REQUEST', 'refresh_token: required');
    if (request.get('client-id') !== clientId || !refreshing.isValid(data.refresh_token)) {
      return sendError(response, 401, 'UNAUTHORIZED', 'wrong Client-Id or refresh_token');
    }
    refreshing.revoke(data.refresh_token);
    sendPair(response);
  };

  return {
    logIn,
    refresh,
    isIssued: access.isValid,
    revokeAll(): void {
      access.revokeAll();
      refreshing.revokeAll();
    },
  };
}
