import { sessionCookie } from '../../src/sign-in/cookies.ts';
import type { Role } from '../../src/sign-in/rights.ts';
import { hashOf, newSession } from '../../src/sign-in/sessions.ts';
import type { TestDatabase } from '../support/database.ts';
import { untilServed } from '../support/service.ts';

export const adminToken = 'an-admin-token-of-tests';

export interface Visitor {
  cookie: string;
  get: (path: string) => Promise<Response>;
  /** The text of a page. */
  read: (path: string) => Promise<string>;
  /** Posts a form as the console's own pages do. */
  post: (path: string, fields?: Record<string, string>) => Promise<Response>;
}

/** A signed-in user of a service's console. */
export async function signInTo(url: string, token = adminToken): Promise<Visitor> {
  const response = await untilServed(() => postForm(`${url}/console/sign-in`, { token }));
  return visitWith(url, response.headers.get('set-cookie')?.split(';')[0] ?? '');
}

const databases = new Map<string, Pick<TestDatabase, 'rows'>>();

/** Tells `visitAs` where the sessions of a service are. */
export const setDatabase = (url: string, database: Pick<TestDatabase, 'rows'>) =>
  void databases.set(url, database);

/** A user with this role, as if the identity provider had signed them in. */
export async function visitAs(url: string, role: Role, clientSecret?: string): Promise<Visitor> {
  const cookie = newSession();
  await databases
    .get(url)!
    .rows('insert into console_sessions (hash, actor, actor_name, role) values ($1, $2, $3, $4)', [
      hashOf(cookie, [adminToken, clientSecret]),
      `subject-${role}`,
      `${role}@clinic.invalid`,
      role,
    ]);
  return visitWith(url, `${sessionCookie}=${cookie}`);
}

export function visitWith(url: string, cookie: string): Visitor {
  const get = (path: string) => fetch(`${url}/console${path}`, { headers: { cookie }, redirect: 'manual' });
  return {
    cookie,
    get,
    read: async (path) => (await get(path)).text(),
    post: (path, fields = {}) => postForm(`${url}/console${path}`, fields, { cookie }),
  };
}

/** Posts a form as a page of the console does. */
export function postForm(
  address: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Response> {
  const sent = { Origin: new URL(address).origin, ...headers };
  return fetch(address, {
    method: 'POST',
    body: new URLSearchParams(fields),
    headers: sent,
    redirect: 'manual',
  });
}
