import { gzipSync } from 'node:zlib';
import type { Config } from '../../../src/common/config/config.ts';
import { sessionCookie } from '../../../src/console/sign-in/session.ts';
import { isOwnActor } from '../../../src/receiver/store/log-access.ts';
import {
  type FakeProvider,
  oidcSettings,
  signInWith,
  startFakeProvider,
} from '../../support/fake-provider.ts';
import { listen } from '../../support/listen.ts';
import { useReceiverDatabase } from '../../support/receiver-database.ts';
import { adminToken, openApp, visitAs, visitWith } from '../support.ts';

const database = useReceiverDatabase();
beforeEach(() => database.rows('truncate receiver.sessions, public.access_log'));
const visitor = (app: ReturnType<typeof openApp>['app'], headers: Record<string, unknown>) =>
  visitWith(app, String(headers['set-cookie']).split(';')[0]!);
const signIn = (app: ReturnType<typeof openApp>['app'], token: string, next = '') =>
  visitWith(app, '').post('/sign-in', { token, next });

it('the admin token opens everything, until the sign-out', async () => {
  const { app } = openApp(database, { publicUrl: undefined });
  const response = await signIn(app, adminToken, '/console/access-log')
    .set('Sec-Fetch-Site', 'same-origin')
    .expect(303)
    .expect('Location', '/console/access-log');
  expect(String(response.headers['set-cookie'])).toMatch(/HttpOnly; SameSite=Strict/);
  const user = visitor(app, response.headers);
  const { text, headers } = await user.get('/health').expect(200);
  expect(text).toContain('viewer, desk, operator, privacy');
  expect(headers['cache-control']).toBe('no-store');
  expect(headers['content-security-policy']).toContain("script-src 'self'");
  await user.post('/sign-out').set('Sec-Fetch-Site', 'same-origin').expect(303);
  await user.get('/today').expect(401);
  const rows = await database.rows('select action, actor from public.access_log order by entry');
  expect(rows.map(({ action }) => action)).toEqual(['sign-in', 'sign-out']);
});

it('leads nowhere but to pages of the console', async () => {
  const { app } = openApp(database);
  for (const next of ['https://other.invalid/console', '//other.invalid', '/metrics', '/console/sign-out'])
    await signIn(app, adminToken, next).expect('Location', '/console');
});

it('after ten wrong tokens of an address the right one is refused too, and the log does not grow', async () => {
  const { app } = openApp(database);
  for (let n = 0; n < 10; n++) await signIn(app, `wrong-${n}`).expect(401);
  for (const token of ['wrong', adminToken, adminToken]) {
    const { headers } = await signIn(app, token).expect(429);
    expect([Number(headers['retry-after']) > 0, headers['set-cookie']]).toEqual([true, undefined]);
  }
  expect(await database.rows('select distinct actor, action from public.access_log')).toEqual([
    { actor: 'unknown', action: 'sign-in failed' },
  ]);
  expect(await database.count('public.access_log')).toBe(10);
});

it('failed sign-ins of any number of addresses add a hundred entries an hour at most', async () => {
  const { app } = openApp(database, { authentication: { trustProxy: 1 } as Config['authentication'] });
  const tries = Array.from({ length: 130 }, (_, n) =>
    signIn(app, 'wrong')
      .set('X-Forwarded-For', `2001:db8:0:${n.toString(16)}::1`)
      .expect(401),
  );
  await Promise.all(tries);
  expect(await database.count('public.access_log')).toBe(100);
  await signIn(app, adminToken).expect(303);
});

it('reads no form before the session and the role, and a small one only, also inflated', async () => {
  const { app } = openApp(database);
  const form = (path: string, body: Buffer, headers: Record<string, string> = {}) =>
    visitWith(app, '')
      .post(path)
      .set({ ...headers, 'Content-Type': 'application/x-www-form-urlencoded' })
      .send(body as unknown as string);
  const large = Buffer.from(`token=${adminToken}&next=${'a'.repeat(70_000)}`);
  const inflated = { 'Content-Encoding': 'gzip' };
  expect((await form('/sign-in', large)).status).toBe(400);
  expect((await form('/sign-in', gzipSync(large), inflated)).status).toBe(400);
  expect((await form('/sign-in', Buffer.from(''))).status).toBe(401);
  // A body that would be refused is not looked at.
  expect((await form('/rejected/x/again', gzipSync('body=1'), inflated)).status).toBe(401);
  const viewer = await visitAs(app, database, ['viewer']);
  const refused = viewer.post('/rejected/x/again').set(inflated);
  expect((await refused).status).toBe(403);
});

it('a changed secret, an ended session and eight hours end a session', async () => {
  const { app } = openApp(database);
  const enter = async () => visitor(app, (await signIn(app, adminToken).expect(303)).headers);
  const [first, second] = [await enter(), await enter()];
  const cookie = (first.get('/today') as unknown as { _header: Record<string, string> })._header;
  await visitWith(openApp(database, { adminToken: 'another-token-of-tests' }).app, cookie.cookie!)
    .get('/today')
    .expect(401);
  await second.get('/today').expect(200);
  await first.post('/sessions/end', { user: 'admin-token' }).expect(303);
  await second.get('/today').expect(401);
  const third = await enter();
  await database.rows(`update receiver.sessions set begun_at = begun_at - interval '481 min'`);
  await third.get('/today').expect(401);
});

describe('with an identity provider', () => {
  let provider: FakeProvider;
  beforeAll(async () => {
    provider = await startFakeProvider();
  });
  afterAll(() => provider.stop());

  afterEach(() => provider.describe({}));

  const serve = async (rolesMap: string, issuer = provider.issuer, env = {}) => {
    const oidc = oidcSettings(issuer, { OIDC_ROLES_MAP: rolesMap, ...env });
    return listen(openApp(database, { oidc, publicUrl: undefined }).app);
  };
  it('a user has all roles that OIDC_ROLES_MAP gives: operator alone sees no patient', async () => {
    const url = await serve('operator=engineers,desk=reception,privacy=officer@clinic.invalid');
    const statusOf = async (path: string, cookie: string) =>
      (await fetch(`${url}/console${path}`, { headers: { cookie } })).status;
    const rolesOf = async (claims: object) => {
      provider.become({ email: 'x@clinic.invalid', email_verified: true, ...claims });
      const { cookie } = await signInWith(url);
      expect(cookie).toContain(sessionCookie);
      const [last] = await database.rows(
        'select roles, actor_name from receiver.sessions order by begun_at desc limit 1',
      );
      const pages = ['/today', '/access-log', '/names'].map((path) => statusOf(path, cookie));
      return { ...last, statuses: await Promise.all(pages) };
    };
    expect(await rolesOf({ groups: ['engineers'] })).toEqual({
      roles: ['operator'],
      actor_name: 'x@clinic.invalid',
      statuses: [200, 403, 200],
    });
    expect(await rolesOf({ groups: ['engineers', 'reception'] })).toMatchObject({
      roles: ['desk', 'operator'],
    });
    expect(await rolesOf({ email: 'officer@clinic.invalid' })).toMatchObject({
      roles: ['privacy'],
      statuses: [200, 200, 200],
    });
  });

  it('a user without a role does not come in, nor an answer that this browser has not asked for', async () => {
    const url = await serve('viewer=staff');
    provider.become({ roles: ['privacy'] });
    expect(await signInWith(url)).toMatchObject({ status: 403, cookie: '' });
    provider.become({ roles: ['staff'] });
    const { back, status } = await signInWith(url);
    expect(status).toBe(200);
    expect((await fetch(back)).status).toBe(400);
    const rows = await database.rows(
      `select filter->>'reason' as reason from public.access_log where action = 'sign-in failed'`,
    );
    expect(rows).toEqual([{ reason: 'no role' }, { reason: 'no attempt' }]);
  });

  it('takes a provider that knows client_secret_basic alone', async () => {
    provider.become({ roles: ['staff'] });
    provider.describe({ token_endpoint_auth_methods_supported: ['client_secret_basic'] });
    expect((await signInWith(await serve('viewer=staff'))).status).toBe(200);
  });

  it('the names of the receiver’s actors are its own', () => {
    for (const own of ['admin-token', 'destination', 'worker', 'platform', 'unknown', ''])
      expect([own, isOwnActor(own)]).toEqual([own, true]);
    expect(isOwnActor('asha')).toBe(false);
  });

  it.each([' Changes-Token ', 'command:root'])(
    'nobody signs in as an actor of the receiver, nor has its name: %s',
    async (own) => {
      const url = await serve('viewer=staff');
      provider.become({ roles: ['staff'], sub: own });
      expect(await signInWith(url)).toMatchObject({ status: 503, cookie: '' });
      provider.become({ roles: ['staff'], preferred_username: own, email: 'x@clinic.invalid' });
      expect((await signInWith(url)).status).toBe(200);
      expect(await database.rows(`select actor_name from receiver.sessions`)).toEqual([
        { actor_name: 'x@clinic.invalid' },
      ]);
    },
  );

  it('a sign-in that fails says why, without anything of the user', async () => {
    const url = await serve('viewer=staff,desk=@clinic.invalid');
    provider.become({ email: 'asha@clinic.invalid' });
    const { status, text } = await signInWith(url);
    expect([status, text]).toEqual([403, expect.stringMatching(/claims roles and groups.*email_verified/)]);
    expect(text).not.toContain('asha');
    const wrong = await serve('viewer=staff', provider.issuer, {
      OIDC_CLIENT_SECRET: 'a-wrong-secret-that-is-long',
    });
    expect((await signInWith(wrong)).text).toContain('(invalid_client)');
    provider.describe({ issuer: 'http://elsewhere.invalid' });
    const start = await fetch(`${await serve('viewer=staff')}/console/sign-in/start`);
    expect([start.status, await start.text()]).toEqual([
      503,
      expect.stringContaining('does not respond as it should. Try again later. (OAUTH_'),
    ]);
  });
});
