import type { Role } from '../../src/console/rights.ts';
import { createSessions, sessionCookie } from '../../src/console/session.ts';
import { createSignedValues } from '../../src/console/signed-values.ts';

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
  const response = await postForm(`${url}/console/sign-in`, { token });
  return visitWith(url, response.headers.get('set-cookie')?.split(';')[0] ?? '');
}

/** A user with this role, as if the identity provider had signed them in. */
export function visitAs(url: string, role: Role, clientSecret?: string): Promise<Visitor> {
  const sessions = createSessions(createSignedValues([adminToken, clientSecret]));
  const { value } = sessions.begin({ id: `subject-${role}`, name: `${role}@clinic.invalid`, role });
  return visitWith(url, `${sessionCookie}=${value}`);
}

async function visitWith(url: string, cookie: string): Promise<Visitor> {
  const get = (path: string) => fetch(`${url}/console${path}`, { headers: { cookie }, redirect: 'manual' });
  const page = await (await get('/reports')).text();
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
