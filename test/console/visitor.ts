import { sessionCookie } from '../../src/sign-in/cookies.ts';
import type { Role } from '../../src/sign-in/rights.ts';
import { createSessions } from '../../src/sign-in/sessions.ts';
import { createSignedValues } from '../../src/sign-in/signed-values.ts';
import type { TestDatabase } from '../support/database.ts';
import { untilServed } from '../support/service.ts';

export const adminToken = 'an-admin-token-of-tests';

export interface Visitor {
  cookie: string;
  get: (path: string) => Promise<Response>;
  /** The text of a page. */
  read: (path: string) => Promise<string>;
  /** Posts a form as the console's own pages do, with the session's token. */
  post: (path: string, fields?: Record<string, string>) => Promise<Response>;
}

/** A signed-in user of a service's console. */
export async function signInTo(url: string, token = adminToken): Promise<Visitor> {
  const response = await untilServed(() => postForm(`${url}/console/sign-in`, { token }));
  return visitWith(url, response.headers.get('set-cookie')?.split(';')[0] ?? '');
}

const databases = new Map<string, Pick<TestDatabase, 'rows'>>();

/** Tells `visitAs` where the key of a service's sessions is. */
export const setDatabase = (url: string, database: Pick<TestDatabase, 'rows'>) =>
  void databases.set(url, database);

/** The values that a receiver with these secrets signs, and its sessions. */
export async function signedBy({ rows }: Pick<TestDatabase, 'rows'>, secrets: (string | undefined)[]) {
  const [row] = await rows('select key from session_key');
  const values = createSignedValues(() => row!.key as Buffer, secrets);
  return { values, sessions: createSessions(values, { now: Date.now, isEnded: () => false }) };
}

/** A user with this role, as if the identity provider had signed them in. */
export async function visitAs(url: string, role: Role, clientSecret?: string): Promise<Visitor> {
  const { sessions } = await signedBy(databases.get(url)!, [adminToken, clientSecret]);
  const { value } = sessions.begin({ id: `subject-${role}`, name: `${role}@clinic.invalid`, role });
  return visitWith(url, `${sessionCookie}=${value}`);
}

export async function visitWith(url: string, cookie: string): Promise<Visitor> {
  const get = (path: string) => fetch(`${url}/console${path}`, { headers: { cookie }, redirect: 'manual' });
  const page = await (await untilServed(() => get('/reports'))).text();
  const csrf = /name="csrf" value="([^"]+)"/.exec(page)![1]!;
  return {
    cookie,
    get,
    read: async (path) => (await get(path)).text(),
    post: (path, fields = {}) => postForm(`${url}/console${path}`, { csrf, ...fields }, { cookie }),
  };
}

export function postForm(
  address: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(address, { method: 'POST', body: new URLSearchParams(fields), headers, redirect: 'manual' });
}
