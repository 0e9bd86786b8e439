import { type FakeProvider, type Shape, signInWith, startFakeProvider } from '../support/fake-provider.ts';
import { oidcSettings } from '../support/oidc-settings.ts';
import { until } from '../support/until.ts';
import { useConsole } from './use-console.ts';

const { database, startAnother } = useConsole();

const running: FakeProvider[] = [];
afterEach(() => Promise.all(running.splice(0).map((provider) => provider.stop())));

/** A user with a session, who is checked with every request, or after `recheckMs`. */
async function signedIn(shape: Shape = {}, recheckMs = 0) {
  const provider = await startFakeProvider({
    idToken: { name: 'Asha', roles: ['operator'] },
    refreshes: true,
    ...shape,
  });
  running.push(provider);
  const oidc = { ...oidcSettings(provider.issuer), recheckMs, timeoutMs: 1_000 };
  const { url } = await startAnother({ oidc });
  const { cookie, cookies } = await signInWith(url);
  const jar = new Map(cookie.split('; ').map((pair) => pair.split(/=(.*)/) as [string, string]));
  const send = () => [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
  /** As a browser does: with all cookies, keeping those that are set. */
  const get = async (path = '/aliases', sent = send()) => {
    const response = await fetch(`${url}/console${path}`, { headers: { cookie: sent } });
    for (const text of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(text)!;
      if (value) jar.set(name!, value);
      else jar.delete(name!);
    }
    return response.status;
  };
  const refreshes = () => provider.count('/token') - 1;
  return { provider, url, oidc, jar, cookies, get, send, refreshes };
}

const lastEntry = async () =>
  (await database.rows('select * from access_log order by entry desc limit 1'))[0]! as Record<
    string,
    unknown
  >;
const ended = { action: 'sign-in failed', actor: 'subject-1', filter: { reason: 'no longer allowed' } };

it('a session goes on while the provider confirms its user, each time with the next refresh token', async () => {
  const { get, refreshes, jar } = await signedIn();
  const session = jar.get('receiver_console');
  for (const count of [1, 2, 3]) {
    expect([await get(), refreshes()]).toEqual([200, count]);
    expect(jar.get('receiver_console')).toBe(session);
  }
});

it('the provider is asked every few minutes only', async () => {
  const { get, refreshes } = await signedIn({}, 60_000);
  for (let i = 0; i < 5; i += 1) expect(await get()).toBe(200);
  expect(refreshes()).toBe(0);
});

it.each<[string, (provider: FakeProvider) => void]>([
  ['has lost the role', (provider) => provider.change({ idToken: { name: 'Asha', roles: [] } })],
  ['has another role', (provider) => provider.change({ idToken: { name: 'Asha', roles: ['viewer'] } })],
  ['was disabled', (provider) => provider.change({ refusal: { status: 400, error: 'invalid_grant' } })],
  ['is another one', (provider) => provider.change({ subject: 'subject-2' })],
])('a session ends when its user %s', async (_, change) => {
  const { provider, get, jar } = await signedIn();
  expect(await get()).toBe(200);
  change(provider);
  expect([await get(), jar.size]).toEqual([401, 0]);
  expect(await lastEntry()).toMatchObject(ended);
});

it.each<[string, Shape]>([
  ['fails', { refusal: { status: 503, error: 'temporarily_unavailable' } }],
  ['does not respond', { answer: () => true }],
])('a session goes on while the provider %s', async (_, shape) => {
  const { provider, get, jar } = await signedIn();
  provider.change(shape);
  expect([await get(), jar.size]).toEqual([200, 2]);
  provider.change({ refusal: { status: 400, error: 'invalid_grant' }, answer: () => false });
  expect(await get()).toBe(401);
});

it('a session goes on where a refresh says nothing about roles', async () => {
  const { get, refreshes } = await signedIn({ withoutIdToken: true });
  expect([await get(), await get(), refreshes()]).toEqual([200, 200, 2]);
});

it('concurrent requests use a refresh token once, and so do those that come late', async () => {
  const { get, send, refreshes, url, oidc } = await signedIn({}, 500);
  const first = send();
  await until(async () => (await get('/aliases', first)) === 200 && refreshes() === 1);
  const statuses = await Promise.all(Array.from({ length: 8 }, () => get('/aliases', first)));
  expect([statuses, refreshes()]).toEqual([Array(8).fill(200), 1]);
  // Another receiver goes on with the next token.
  const { url: another } = await startAnother({ oidc });
  expect(another).not.toBe(url);
  await until(async () => {
    const { status } = await fetch(`${another}/console/aliases`, { headers: { cookie: send() } });
    expect(status).toBe(200);
    return refreshes() === 2;
  });
});

it('nobody reads the refresh token, and a session is nothing without its own', async () => {
  const { cookies, jar, get, url } = await signedIn({}, 60_000);
  const cookie = cookies.find((text) => text.startsWith('receiver_console_refresh='))!;
  for (const part of ['Path=/console', 'HttpOnly', 'SameSite=Strict']) expect(cookie).toContain(part);
  expect(Buffer.from(jar.get('receiver_console_refresh')!, 'base64url').toString()).not.toContain(
    'refreshToken',
  );

  const session = `receiver_console=${jar.get('receiver_console')}`;
  const other = (await signInWith(url)).cookie
    .split('; ')
    .find((one) => one.startsWith('receiver_console_refresh'));
  const changed = `receiver_console_refresh=${jar.get('receiver_console_refresh')!.replace(/^./, (c) => (c === 'A' ? 'B' : 'A'))}`;
  for (const sent of [
    session,
    `${session}; ${other}`,
    `${session}; ${changed}`,
    `${session}; receiver_console_refresh=`,
  ]) {
    expect(await get('/aliases', sent)).toBe(401);
  }
});

it('the answer about one user is none about another', async () => {
  const { provider, url, send, get } = await signedIn();
  provider.become({ subject: 'leaver' });
  const [leaver] = (await signInWith(url)).cookie.split('; ');
  const [session, refresh] = send().split('; ');
  provider.become({ subject: 'subject-1' });
  expect(await get('/aliases', `${session}; ${refresh}`)).toBe(200);
  expect(await get('/aliases', `${leaver}; ${refresh}`)).toBe(401);
});

it('a refresh token that no cookie can hold is not kept, and the session is like one without', async () => {
  const provider = await startFakeProvider({
    idToken: { name: 'x', roles: ['viewer'] },
    largeTokens: true,
    refreshes: true,
  });
  running.push(provider);
  const { url } = await startAnother({ oidc: { ...oidcSettings(provider.issuer), recheckMs: 0 } });
  const { cookie } = await signInWith(url);
  expect(cookie).toMatch(/^receiver_console=[^;]+$/);
  expect((await fetch(`${url}/console/aliases`, { headers: { cookie } })).status).toBe(200);
});
