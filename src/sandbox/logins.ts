import { randomUUID } from 'node:crypto';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import { sendError } from './faults.ts';

const loginRequest = z.object({ client_id: z.string(), client_secret: z.string() });

export interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The credentials that a sandbox accepts by default. */
export const sandboxCredentials: Credentials = { clientId: 'sandbox-client', clientSecret: 'sandbox-secret' };

/** The login, and the tokens that it has issued: each is valid for `expiresIn` seconds. */
export function logins({ clientId, clientSecret }: Credentials, expiresIn: number) {
  const expiries = new Map<string, number>();
  const now = () => performance.now() / 1000;

  const logIn: RequestHandler = ({ body }, response) => {
    const { success, data } = loginRequest.safeParse(body);
    if (!success) return sendError(response, 400, 'INVALID_REQUEST', 'client_id and client_secret: required');
    if (data.client_id !== clientId || data.client_secret !== clientSecret) {
      return sendError(response, 401, 'UNAUTHORIZED', 'wrong client_id or client_secret');
    }
    for (const [token, expiry] of expiries) if (now() >= expiry) expiries.delete(token);
    const token = `sandbox-${randomUUID()}`;
    expiries.set(token, now() + expiresIn);
    response.json({
      access_token: token,
      expires_in: expiresIn,
      refresh_token: `sandbox-refresh-${randomUUID()}`,
    });
  };

  return {
    logIn,
    isIssued: (token: string) => now() < (expiries.get(token) ?? 0),
    revokeAll: () => expiries.clear(),
  };
}
