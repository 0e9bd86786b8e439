import { hashOf } from '../../src/sign-in/sessions.ts';
import { sessionS } from '../../src/store/sessions.ts';
import { useConsole } from './use-console.ts';
import { adminToken, postForm, signInTo, visitAs } from './visitor.ts';

const { database, service, visitor, startAnother } = useConsole();

const openWith = async (url: string, cookie: string, path = '/access-log') =>
  (await fetch(`${url}/console${path}`, { headers: { cookie }, redirect: 'manual' })).status;
const lastEntry = async () =>
  (await database.rows('select action, actor, filter from access_log order by entry desc limit 1'))[0];

describe('an attacker', () => {
  it('cannot use a copied cookie once its user has signed out, nor on another receiver', async () => {
    const other = await startAnother({ adminToken });
    const victim = await signInTo(service.url);
    const { cookie } = victim;
    expect([await openWith(service.url, cookie), await openWith(other.url, cookie)]).toEqual([200, 200]);
    const response = await victim.post('/sign-out');
    expect(response.headers.get('set-cookie')).toMatch(/receiver_console=;.*Expires=Thu, 01 Jan 1970/);
    expect(await lastEntry()).toMatchObject({ action: 'sign-out', actor: 'admin-token' });
    expect([await openWith(service.url, cookie), await openWith(other.url, cookie)]).toEqual([401, 401]);
    // Others go on, and there is nothing to sign out of any more.
    expect(await openWith(service.url, visitor.cookie)).toBe(200);
    expect((await postForm(`${service.url}/console/sign-out`, {}, { cookie })).status).toBe(401);
  });

  it('cannot use a cookie after eight hours, and its row goes with the next sign-in', async () => {
    const { cookie } = await visitAs(service.url, 'privacy');
    const age = (seconds: number) =>
      database.rows(`update console_sessions set begun_at = now() - interval '${seconds} s'
        where actor = 'subject-privacy'`);
    await age(sessionS - 60);
    expect(await openWith(service.url, cookie)).toBe(200);
    await age(sessionS + 1);
    expect(await openWith(service.url, cookie)).toBe(401);
    await signInTo(service.url);
    expect(await database.rows(`select from console_sessions where actor = 'subject-privacy'`)).toEqual([]);
  });

  it('who reads the database cannot make a cookie, and another admin token ends every session', async () => {
    const { cookie } = await signInTo(service.url);
    const rows = await database.rows(
      `select encode(hash, 'hex') as hash, s::text as all from console_sessions s`,
    );
    const value = cookie.split('=')[1]!;
    for (const row of rows) {
      expect(row.all).not.toContain(value);
      expect(await openWith(service.url, `receiver_console=${row.hash}`)).toBe(401);
    }
    expect(hashOf(value, [adminToken, undefined])).not.toEqual(hashOf(value, ['other', undefined]));
    const changed = await startAnother({ adminToken: 'another-admin-token-of-tests' });
    expect(await openWith(changed.url, cookie)).toBe(401);
  });
});

it('all sessions of a user end at every receiver, and not those of others or that begin later', async () => {
  const other = await startAnother({ adminToken });
  const [viewer, operator] = [await visitAs(service.url, 'viewer'), await visitAs(service.url, 'operator')];
  const token = await signInTo(other.url);
  const page = await token.read('/sessions');
  expect(page).toMatch(/name="user" value="admin-token"/);
  expect(page).toContain('subject-viewer');
  expect(await lastEntry()).toMatchObject({ action: 'audit', filter: { page: 'sessions' } });
  const statuses = async (cookie: string) => [
    await openWith(service.url, cookie, '/aliases'),
    await openWith(other.url, cookie, '/aliases'),
  ];
  expect((await operator.post('/sessions/end', { user: 'subject-viewer' })).status).toBe(403);
  expect((await token.post('/sessions/end', { user: 'subject-viewer' })).status).toBe(303);
  expect(await lastEntry()).toEqual({
    action: 'sessions end',
    actor: 'admin-token',
    filter: { user: 'subject-viewer' },
  });
  expect([await statuses(viewer.cookie), await statuses(operator.cookie)]).toEqual([
    [401, 401],
    [200, 200],
  ]);
  const again = await visitAs(service.url, 'viewer');
  expect(await statuses(again.cookie)).toEqual([200, 200]);

  // One's own too.
  expect((await token.post('/sessions/end', { user: 'admin-token' })).status).toBe(303);
  expect(await statuses(token.cookie)).toEqual([401, 401]);
  expect(await (await signInTo(other.url)).read('/sessions')).toContain('admin-token');
});
