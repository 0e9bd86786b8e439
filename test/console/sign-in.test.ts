import { sessionS } from '../../src/store/sessions.ts';
import { oidcSettings } from '../support/oidc-settings.ts';
import { testConfig } from '../support/service.ts';
import { until } from '../support/until.ts';
import { pagesOf } from './pages.ts';
import { useConsole } from './use-console.ts';
import { adminToken, postForm, signInTo } from './visitor.ts';

const { database, service, visitor, startAnother } = useConsole();

const oidc = oidcSettings('http://127.0.0.1:9'); // nobody listens there
const id = '018bcfe5-6800-8a3c-9f10-0123456789ab';
const pages = ['', ...pagesOf({ delivery: id, body: id, receipt: { business: 'b', id: '7' } }, ['silence'])];
const more = ['/reports/silence/csv'];
const assets = ['/assets/console.js', '/assets/nothing', '/nothing'];
const forms = [
  '/replay',
  '/replay/preview',
  '/quarantine/preview',
  '/quarantine/replay',
  '/quarantine/drop',
  `/deliveries/${id}/personal`,
  `/quarantine/${id}/personal`,
  '/reports/receipts/csv',
  '/reports/receipts/personal',
  '/sign-out',
];

it.each([...pages, ...more, ...assets])(
  'without a session there is the sign-in form and nothing else: GET %s',
  async (path) => {
    const response = await fetch(`${service.url}/console${path}`);
    const text = await response.text();
    expect(response.status).toBe(401);
    expect(text).toContain('Sign in');
    expect(text).not.toMatch(/<nav|<table|<script|sign-out|Asia/);
  },
);

it.each(forms)('without a session nothing can be changed: POST %s', async (path) => {
  const response = await postForm(`${service.url}/console${path}`, {});
  expect([
    response.status,
    (await response.text()).includes('<form method="post" action="/console/sign-in"'),
  ]).toEqual([401, true]);
});

it('the stylesheet of the form needs no session', async () => {
  const response = await fetch(`${service.url}/console/assets/console.css`);
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/css; charset=utf-8']);
});

it('a browser finds an icon without a session, and its requests are not rejected ones', async () => {
  for (const path of ['/favicon.ico', '/apple-touch-icon.png', '/console/assets/icon.svg']) {
    const response = await fetch(service.url + path);
    expect([path, response.status, await response.text()]).toEqual([
      path,
      200,
      expect.stringContaining('<svg'),
    ]);
  }
  expect(await (await fetch(`${service.url}/console`)).text()).toContain('rel="icon"');
});

it('without an admin token and an identity provider there is no console', async () => {
  const other = await startAnother({});
  for (const path of ['/console', '/console/assets/console.css']) {
    expect((await fetch(other.url + path)).status).toBe(404);
  }
});

it('the right token begins a session in a cookie that scripts, other sites and other paths cannot read', async () => {
  const response = await postForm(`${service.url}/console/sign-in`, { token: adminToken });
  const cookie = response.headers.get('set-cookie')!;
  expect([response.status, response.headers.get('location')]).toEqual([303, '/console']);
  for (const part of ['Path=/console', 'HttpOnly', 'SameSite=Strict', `Max-Age=${sessionS}`])
    expect(cookie).toContain(part);
  expect(cookie).not.toContain('Secure');
  expect(cookie).not.toContain(adminToken);
});

it('the cookie is secure only if the trusted proxy says that the request used TLS', async () => {
  const config = testConfig({});
  const authentication = { ...config.authentication, trustProxy: 1 };
  const behind = await startAnother({ adminToken, authentication });
  const tls = { 'X-Forwarded-Proto': 'https' };
  const cookieOf = async (url: string) =>
    (await postForm(`${url}/console/sign-in`, { token: adminToken }, tls)).headers.get('set-cookie');
  expect(await cookieOf(behind.url)).toContain('Secure');
  expect(await cookieOf(service.url)).not.toContain('Secure');
});

it.each(['', 'wrong', `${adminToken}x`])('a wrong token begins no session: %p', async (token) => {
  const response = await postForm(`${service.url}/console/sign-in`, { token });
  expect([response.status, response.headers.get('set-cookie')]).toEqual([401, null]);
});

it.each([
  'https://elsewhere.invalid/',
  '//elsewhere.invalid/console',
  '/console.invalid',
  'javascript:alert(1)',
])('the sign-in redirects to no other site: %s', async (next) => {
  const response = await postForm(`${service.url}/console/sign-in`, { token: adminToken, next });
  expect(response.headers.get('location')).toBe('/console');
});

it('the sign-in redirects to the requested page', async () => {
  const form = await (await fetch(`${service.url}/console/deliveries?status=failed`)).text();
  const next = /name="next" value="([^"]+)"/.exec(form)![1]!;
  const response = await postForm(`${service.url}/console/sign-in`, { token: adminToken, next });
  expect(response.headers.get('location')).toBe('/console/deliveries?status=failed');
});

it('beyond the limit no token of an address is compared, and every one that was is in the access log', async () => {
  const other = await startAnother({ adminToken });
  const attempt = (token: string) => postForm(`${other.url}/console/sign-in`, { token });
  const entries = async () =>
    Number(
      (await database.rows(`select count(*) from access_log where action = 'sign-in failed'`))[0]!.count,
    );
  const before = await entries();
  let compared = 0;
  const last = await until(async () => {
    const response = await attempt('guess');
    if (response.status === 429) return response;
    compared += 1;
    return undefined;
  });
  expect(Number(last.headers.get('retry-after'))).toBeGreaterThan(0);
  for (const token of ['guess', adminToken]) {
    const response = await attempt(token);
    expect([token, response.status, response.headers.get('set-cookie')]).toEqual([token, 429, null]);
  }
  expect((await entries()) - before).toBe(compared);
});

it('what fails elsewhere uses up no attempts of the console, and wrong tokens there are in the access log', async () => {
  const other = await startAnother({ adminToken, oidc });
  const get = (path: string) =>
    fetch(other.url + path, { headers: { Authorization: 'Bearer guess' }, redirect: 'manual' });
  for (const path of ['/metrics', '/console/sign-in/callback']) {
    for (let time = 0; time < 15; time += 1) await get(path);
  }
  expect((await get('/metrics')).status).toBe(429);
  await until(async () => {
    const [entry] = await database.rows(
      `select count(*)::int from access_log where filter->>'as' = 'bearer'`,
    );
    return (entry!.count as number) >= 10;
  });
  const wrong = await postForm(`${other.url}/console/sign-in`, { token: 'console-guess' });
  expect(wrong.status).toBe(401);
  const [entry] = await database.rows('select action, filter from access_log order by entry desc limit 1');
  expect(entry).toEqual({
    action: 'sign-in failed',
    filter: { with: 'admin token', reason: 'wrong token' },
  });
  await signInTo(other.url);
});

it('signing out deletes the cookie', async () => {
  const other = await signInTo(service.url);
  const response = await other.post('/sign-out');
  expect(response.headers.get('set-cookie')).toMatch(/receiver_console=;.*Expires=Thu, 01 Jan 1970/);
});

it.each([
  ['of which the browser says nothing', {}],
  ['from another site', { 'Sec-Fetch-Site': 'cross-site' }],
  ['from another subdomain', { 'Sec-Fetch-Site': 'same-site' }],
  ['from another origin', { Origin: 'https://elsewhere.invalid' }],
  ['without an origin', { Origin: 'null' }],
])('a form is rejected %s', async (_, headers) => {
  for (const path of [...forms, '/sign-in']) {
    const { status } = await fetch(`${service.url}/console${path}`, {
      method: 'POST',
      body: new URLSearchParams({ status: 'failed', all: 'yes' }),
      headers: { cookie: visitor.cookie, ...headers } as Record<string, string>,
    });
    expect([path, status]).toEqual([path, 403]);
  }
});

it('a form of the same origin is accepted', async () => {
  const { cookie } = visitor;
  const address = `${service.url}/console/replay/preview`;
  expect((await postForm(address, {}, { cookie })).status).toBe(200);
  const told = { cookie, Origin: 'null', 'Sec-Fetch-Site': 'same-origin' };
  expect((await postForm(address, {}, told)).status).toBe(200);
});

it('no page can be framed, cached, or load anything of another site', async () => {
  for (const response of [
    await fetch(`${service.url}/console`),
    await visitor.get('/deliveries'),
    await visitor.get('/aliases'),
  ]) {
    const policy = response.headers.get('content-security-policy')!;
    expect(policy.split(';').sort()).toEqual(
      [
        "base-uri 'none'",
        "connect-src 'self'",
        "default-src 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "img-src 'self'",
        "script-src 'self'",
        "style-src 'self'",
      ].sort(),
    );
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('referrer-policy')).toBe('same-origin');
  }
});
