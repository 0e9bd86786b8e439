import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import type { Config } from '../../src/config/config.ts';
import {
  type IdentityProvider,
  type ProviderOptions,
  startIdentityProvider,
} from '../support/identity-provider.ts';
import { oidcSettings } from '../support/oidc-settings.ts';
import { testConfig } from '../support/service.ts';
import { until } from '../support/until.ts';
import { openBrowser } from './browser.ts';
import { useConsole } from './use-console.ts';
import { adminToken, postForm, signInTo } from './visitor.ts';

// The characters have to be encoded on their way.
const clientSecret = 'a secret of tests: +%~/&=';
const settings = (issuer: string) =>
  oidcSettings(issuer, { OIDC_ROLES_CLAIM: 'realm_access.roles', OIDC_CLIENT_SECRET: clientSecret });
const clientOf = (url: string) => ({
  client_id: 'console',
  client_secret: clientSecret,
  redirect_uris: [`${url}/console/sign-in/callback`],
  post_logout_redirect_uris: [`${url}/console`],
});

const options = {
  idTokenS: 3600,
  inUserInfo: false,
  authentication: 'client_secret_basic' as ProviderOptions['authentication'],
};

const providers: IdentityProvider[] = [];
async function startProvider(): Promise<IdentityProvider> {
  const provider = await startIdentityProvider();
  providers.push(provider);
  return provider;
}

let provider: IdentityProvider;
const { database, service, startAnother } = useConsole({
  prepare: async () => {
    provider = await startProvider();
    return { oidc: settings(provider.issuer) };
  },
});
let browser: Browser;
let context: BrowserContext;
let page: Page;
beforeAll(async () => {
  await provider.register({ client: clientOf(service.url), ...options });
  browser = await openBrowser();
});
beforeEach(async () => {
  context = await browser.newContext();
  // The provider's pages ask for a font.
  await context.route(/googleapis/, (route) => route.abort());
  page = await context.newPage();
});
afterEach(() => context.close());
afterAll(async () => {
  await browser?.close();
  await Promise.all(providers.map((one) => one.stop()));
});

/** Another receiver, with a provider of its own. */
async function startWith(
  changed: Partial<typeof options>,
  config: Partial<Config> = {},
  discoveryMs = 600_000,
) {
  const own = await startProvider();
  const { url } = await startAnother({ oidc: { ...settings(own.issuer), discoveryMs }, ...config });
  await own.register({ client: clientOf(url), ...options, ...changed });
  return { url, own };
}

/** Signs in from a page of the console, through the pages of the provider. */
async function signIn(login: string, { url = service.url, path = '' } = {}) {
  await page.goto(`${url}/console${path}`);
  await page.getByRole('link', { name: 'Sign in with your account' }).click();
  await page.getByPlaceholder('Enter any login').fill(login);
  await page.getByPlaceholder('and password').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.waitForURL(`${url}/**`);
}

const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor();
const sections = () => page.getByRole('navigation', { name: 'Sections' }).getByRole('link').allTextContents();
const lastEntry = async () =>
  (await database.rows('select * from access_log order by entry desc limit 1'))[0]! as Record<
    string,
    unknown
  >;
const sessionOf = async () => {
  const cookies = await context.cookies();
  return cookies.find(({ name }) => name === 'receiver_console');
};
const get = (url: string, path: string, cookie = '') =>
  fetch(`${url}/console${path}`, { headers: { cookie }, redirect: 'manual' });

it.each([
  ['viewer', 'viewer-asha', false],
  ['operator', 'viewer+operator-asha', false],
  ['privacy', 'privacy+unknown-asha', true],
])(
  'a user signs in with the role %s, gets to the requested page, and signs out',
  async (role, login, hasLog) => {
    await signIn(login, { path: '/deliveries?status=failed' });
    await heading('Deliveries');
    expect(page.url()).toBe(`${service.url}/console/deliveries?status=failed`);
    await page.getByText(`${login}@clinic.invalid ${role}`).waitFor();
    expect((await sections()).includes('Access log')).toBe(hasLog);
    expect(await lastEntry()).toMatchObject({
      action: 'sign-in',
      actor: login,
      actor_name: `${login}@clinic.invalid`,
      address: '127.0.0.1',
      filter: { with: 'identity provider', role },
    });
    expect(await sessionOf()).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/console' });

    await page.locator('details.user summary').click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Yes, sign me out' }).click();
    await page.waitForURL(`${service.url}/console`);
    await heading('Sign in');
    expect(await lastEntry()).toMatchObject({ action: 'sign-out', actor: login });
    // The provider has ended its session too.
    await page.getByRole('link', { name: 'Sign in with your account' }).click();
    await page.getByPlaceholder('Enter any login').waitFor();
  },
);

it('roles and name may be in userinfo instead of the ID token, and the console needs no admin token', async () => {
  const { url } = await startWith({ inUserInfo: true, authentication: 'client_secret_post' });
  await signIn('operator-ravi', { url });
  await page.getByText('operator-ravi@clinic.invalid operator').waitFor();
  const form = await (await get(url, '')).text();
  expect(form).not.toContain('Admin token');
  expect((await postForm(`${url}/console/sign-in`, { token: '' })).status).toBe(401);
  for (const path of ['/metrics', '/openapi.json']) {
    expect((await fetch(url + path, { headers: { Authorization: 'Bearer ' } })).status).toBe(404);
  }
});

it('nobody gets in without a role of the console, and the page says which there are', async () => {
  await signIn('accountant-devi');
  await heading('Not signed in');
  await page.getByText('none of the roles viewer, operator, privacy').waitFor();
  expect(await sessionOf()).toBeUndefined();
  expect(await lastEntry()).toMatchObject({
    action: 'sign-in failed',
    actor: 'accountant-devi',
    actor_name: 'accountant-devi@clinic.invalid',
    filter: { with: 'identity provider', reason: 'no role' },
  });
});

it('nobody gets in if the provider refuses', async () => {
  await page.goto(`${service.url}/console`);
  await page.getByRole('link', { name: 'Sign in with your account' }).click();
  await page.getByRole('link', { name: 'Cancel' }).click();
  await heading('Not signed in');
  expect(await sessionOf()).toBeUndefined();
  expect(await lastEntry()).toMatchObject({
    action: 'sign-in failed',
    actor: 'unknown',
    filter: { reason: 'refused' },
  });
});

it('an answer that this browser has not asked for is refused', async () => {
  const asked = async () => {
    const start = await get(service.url, '/sign-in/start');
    const [cookie] = start.headers.getSetCookie();
    expect(cookie).toMatch(/; Path=\/console\/sign-in; .*HttpOnly; SameSite=Lax/);
    const state = new URL(start.headers.get('location')!).searchParams.get('state')!;
    return { cookie: cookie!.split(';')[0]!, state };
  };
  const [mine, other] = [await asked(), await asked()];
  for (const [state, cookie] of [
    [mine.state, ''],
    ['x', ''],
    [other.state, mine.cookie],
    ['', mine.cookie],
    [mine.state, `${mine.cookie}x`],
  ] as const) {
    const response = await get(service.url, `/sign-in/callback?code=x&state=${state}`, cookie);
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('Sign in again')]);
    expect(response.headers.get('set-cookie')).not.toContain('receiver_console=');
    expect(await lastEntry()).toMatchObject({ action: 'sign-in failed', filter: { reason: 'no attempt' } });
  }
  // A code that the provider does not know.
  const { issuer } = provider;
  const path = `/sign-in/callback?code=x&state=${mine.state}&iss=${encodeURIComponent(issuer)}`;
  expect((await get(service.url, path, mine.cookie)).status).toBe(503);
  expect(await lastEntry()).toMatchObject({
    action: 'sign-in failed',
    filter: { reason: 'provider failed' },
  });
});

it('a session outlives the ID token, for twelve hours', async () => {
  const { url } = await startWith({ idTokenS: 1 });
  await signIn('viewer-asha', { url });
  const begun = Date.now();
  const { name, value, expires } = (await sessionOf())!;
  expect(expires).toBeGreaterThan(begun / 1000 + 11 * 3600);
  expect(expires).toBeLessThanOrEqual(begun / 1000 + 12 * 3600);
  await until(() => Date.now() > begun + 2_000);
  expect((await get(url, '/today', `${name}=${value}`)).status).toBe(200);
});

it('while the provider is down nobody new gets in, sessions go on, and the admin token works', async () => {
  const { url, own } = await startWith({}, { adminToken }, 0);
  await signIn('viewer-asha', { url });
  await heading('Today');
  const { name, value } = (await sessionOf())!;
  const pending = await get(url, '/sign-in/start');
  await own.stop();

  await context.clearCookies();
  await page.goto(`${url}/console`);
  const [answer] = await Promise.all([
    page.waitForResponse(/sign-in\/start/),
    page.getByRole('link', { name: 'Sign in with your account' }).click(),
  ]);
  expect(answer.status()).toBe(503);
  await page.getByText('the identity provider does not respond').waitFor();
  expect(await lastEntry()).toMatchObject({
    action: 'sign-in failed',
    filter: { reason: 'provider failed' },
  });
  const state = new URL(pending.headers.get('location')!).searchParams.get('state')!;
  const [cookie] = pending.headers.getSetCookie().map((text) => text.split(';')[0]!);
  const path = `/sign-in/callback?code=x&state=${state}&iss=${encodeURIComponent(own.issuer)}`;
  expect((await get(url, path, cookie)).status).toBe(503);

  expect((await get(url, '/deliveries', `${name}=${value}`)).status).toBe(200);
  expect((await (await signInTo(url)).get('/deliveries')).status).toBe(200);
});

it('a provider that was down at first is asked again, and sends users back to the address that the proxy tells', async () => {
  const server = createServer((_req, res) => void res.writeHead(500).end());
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const authentication = { ...testConfig({}).authentication, trustProxy: 1 };
  const { url } = await startAnother({ oidc: settings(issuer), authentication });
  const headers = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'receiver.clinic.invalid' };
  const start = () => fetch(`${url}/console/sign-in/start`, { headers, redirect: 'manual' });
  expect((await start()).status).toBe(503);
  server.removeAllListeners('request');
  server.on('request', (_req, res) => {
    const metadata = { issuer, authorization_endpoint: `${issuer}/auth`, jwks_uri: `${issuer}/keys` };
    res.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(metadata));
  });
  const response = await start();
  const location = new URL(response.headers.get('location')!);
  expect([response.status, location.origin]).toEqual([303, issuer]);
  expect(response.headers.get('set-cookie')).toContain('Secure');
  expect(Object.fromEntries(location.searchParams)).toMatchObject({
    redirect_uri: 'https://receiver.clinic.invalid/console/sign-in/callback',
    code_challenge_method: 'S256',
    client_id: 'console',
  });
  server.close();
});

it('nobody gets in while the access log cannot be written', async () => {
  await database.pool.query('alter table access_log_head rename to gone');
  try {
    await signIn('privacy-asha');
    await page.getByText('The access log cannot be written').waitFor();
    expect(await sessionOf()).toBeUndefined();
    for (const token of [adminToken, 'wrong']) {
      const response = await postForm(`${service.url}/console/sign-in`, { token });
      expect([response.status, response.headers.get('set-cookie')]).toEqual([503, null]);
    }
  } finally {
    await database.pool.query('alter table gone rename to access_log_head');
  }
});
