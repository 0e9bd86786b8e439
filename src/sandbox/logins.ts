import { randomUUID } from 'node:crypto';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import { sendError } from './faults.ts';

export interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The credentials that a sandbox accepts. */
export const sandboxCredentials: Credentials = { clientId: 'sandbox-client', clientSecret: 'sandbox-secret' };

const loginRequest = z.object({ client_id: z.string(), client_secret: z.string() });
const lifetimeSeconds = 3_600;

/** The login, and the tokens that it has issued. */
export function logins() {
  const expiries = new Map<string, number>();
  const now = () => performance.now() / 1000;

  const logIn: RequestHandler = ({ body }, response) => {
    const { success, data } = loginRequest.safeParse(body);
    if (!success) return sendError(response, 400, 'INVALID_REQUEST', 'client_id and client_secret: required');
    const { clientId, clientSecret } = sandboxCredentials;
    if (data.client_id !== clientId || data.client_secret !== clientSecret)
      return sendError(response, 401, 'UNAUTHORIZED', 'wrong client_id or client_secret');
    const access_token = `sandbox-${randomUUID()}`;
    expiries.set(access_token, now() + lifetimeSeconds);
    response.json({ access_token, expires_in: lifetimeSeconds });
  };

  return {
    logIn,
    isIssued: (token: string) => now() < (expiries.get(token) ?? 0),
    revokeAll: () => expiries.clear(),
  };
}
