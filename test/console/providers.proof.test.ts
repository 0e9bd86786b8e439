import type { ServerResponse } from 'node:http';
import { createLog } from '../../src/common/log.ts';
import type { Config } from '../../src/config/config.ts';
import { type FakeProvider, type Shape, signInWith, startFakeProvider } from '../support/fake-provider.ts';
import { oidcSettings } from '../support/oidc-settings.ts';
import { until } from '../support/until.ts';
import { providers } from './provider-shapes.ts';
import { useConsole } from './use-console.ts';

const { database, startAnother } = useConsole();

const running: FakeProvider[] = [];
afterEach(() => Promise.all(running.splice(0).map((provider) => provider.stop())));

type Settings = NonNullable<Config['oidc']>;
const person = { name: 'Asha', email: 'asha@clinic.example', email_verified: true };

/** A provider of this shape, and a receiver that uses it. */
async function startWith(
  shape: Shape,
  env: Record<string, string | undefined> = {},
  changed: Partial<Settings> = {},
) {
  const provider = await startFakeProvider(shape);
  running.push(provider);
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => void lines.push(line) });
  const oidc = { ...oidcSettings(provider.issuer, env), ...changed };
  const { url } = await startAnother({ oidc, log });
  return { provider, url, lines };
}

const lastEntry = async () =>
  (await database.rows('select * from access_log order by entry desc limit 1'))[0]! as Record<
    string,
    unknown
  >;
const refusal = (reason: string) => ({ action: 'sign-in failed', filter: { reason } });

it.each(providers)(
  'users sign in with $name, and others with an account there do not',
  async ({ shape, env, role, stranger }) => {
    const { provider, url } = await startWith(shape, env);
    const { status, text, cookie } = await signInWith(url, '/deliveries');
    expect([status, text]).toEqual([200, expect.stringContaining('url=/console/deliveries')]);
    const page = await (await fetch(`${url}/console`, { headers: { cookie } })).text();
    expect(page).toContain(`<span>${role}</span>`);
    expect(await lastEntry()).toMatchObject({ action: 'sign-in', actor: 'subject-1', filter: { role } });

    provider.become({ subject: 'stranger', ...stranger });
    const refused = await signInWith(url);
    expect([refused.status, refused.cookie]).toEqual([403, '']);
    expect(await lastEntry()).toMatchObject({ ...refusal('no role'), actor: 'stranger' });
  },
);

it.each<[string, Shape, string]>(
  [
    ['an address that is not verified', { ...person, email_verified: false }, '@clinic.example'],
    [
      'an address that nobody says is verified',
      { ...person, email_verified: undefined },
      'asha@clinic.example',
    ],
    ['a domain that ends like it', { ...person, email: 'asha@evilclinic.example' }, '@clinic.example'],
    ['a domain below it', { ...person, email: 'asha@x.clinic.example' }, '@clinic.example'],
    ['the domain as a name', { ...person, email: '@clinic.example@elsewhere.example' }, '@clinic.example'],
    [
      'an address as a role',
      { name: 'x', roles: ['asha@clinic.example', '@clinic.example'] },
      '@clinic.example',
    ],
    ['a role of the console', { name: 'x', roles: ['privacy', 'viewer'] }, 'admins'],
    ['a role that is refused', { name: 'x', roles: { admins: false } }, 'admins'],
  ].map(([name, idToken, value]) => [name, { idToken }, value] as [string, Shape, string]),
)('with a map, nothing but its values gives a role: not %s', async (_, shape, value) => {
  const { url } = await startWith(shape, { OIDC_ROLES_MAP: `privacy=${value}` });
  expect((await signInWith(url)).status).toBe(403);
  expect(await lastEntry()).toMatchObject(refusal('no role'));
});

it('a role may repeat in the map, and the one with the most rights counts', async () => {
  const map = 'viewer=staff,operator=leads,operator=asha@clinic.example,viewer=@clinic.example';
  const { url } = await startWith({ idToken: { ...person, roles: ['staff'] } }, { OIDC_ROLES_MAP: map });
  await signInWith(url);
  expect(await lastEntry()).toMatchObject({ action: 'sign-in', filter: { role: 'operator' } });
});

it('a user of too many groups is told what an administrator can do', async () => {
  const idToken = { name: 'Asha', _claim_names: { groups: 'src1' } };
  const { url } = await startWith({ idToken }, { OIDC_ROLES_CLAIM: 'groups', OIDC_ROLES_MAP: 'viewer=x' });
  const { status, text } = await signInWith(url);
  expect([status, text]).toEqual([403, expect.stringContaining('app role')]);
  expect(await lastEntry()).toMatchObject(refusal('too many groups'));
});

it.each<[string, Shape['accessToken']]>([
  ['another client', { azp: 'elsewhere', aud: 'account' }],
  ['another user', { sub: 'subject-2' }],
  ['another issuer', { iss: 'https://elsewhere.example' }],
])('roles in an access token for %s are not believed', async (_, claims) => {
  const { url } = await startWith({ idToken: person, accessToken: { roles: ['privacy'], ...claims } });
  expect((await signInWith(url)).status).toBe(403);
});

it.each(['admin-token', 'unknown', 'worker', 'command:root', ' '])(
  'a user whose subject is %j, an actor of the access log, gets no session',
  async (subject) => {
    const { url, lines } = await startWith({ subject, idToken: { roles: ['privacy'] } });
    const { status, cookie } = await signInWith(url);
    expect([status, cookie]).toEqual([503, '']);
    expect(lines.join('')).toContain('whose subject is reserved');
    expect(await lastEntry()).toMatchObject({ ...refusal('provider failed'), actor: 'unknown' });
  },
);

it('an ID token that the key set does not verify begins no session', async () => {
  for (const keepsName of [true, false]) {
    const { provider, url, lines } = await startWith({ idToken: { roles: ['privacy'] } });
    await provider.changeKey({ told: false, keepsName });
    const { status, cookie } = await signInWith(url);
    expect([status, cookie]).toEqual([503, '']);
    expect(provider.count('/keys')).toBeGreaterThan(0);
    expect(lines.join('')).toContain('a sign-in with the identity provider failed');
  }
});

it('an ID token for another client, of another issuer or that has expired begins no session', async () => {
  const issuer = 'https://elsewhere.example';
  for (const [shape, logged] of [
    [{ idToken: { roles: ['viewer'], aud: 'elsewhere' } }, 'unexpected JWT claim value'],
    [{ idToken: { roles: ['viewer'], iss: issuer } }, `the provider calls itself ${issuer}`],
    [{ idToken: { roles: ['viewer'] }, idTokenS: -100 }, 'timestamp'],
  ] as [Shape, string][]) {
    const { url, lines } = await startWith(shape);
    expect((await signInWith(url)).status).toBe(503);
    expect(lines.join('')).toContain(logged);
  }
});

it('the provider may change its keys at any time', async () => {
  const { provider, url } = await startWith({ idToken: { name: 'x', roles: ['viewer'] } });
  expect((await signInWith(url)).status).toBe(200);
  for (const keepsName of [false, true]) {
    await provider.changeKey({ told: true, keepsName });
    expect((await signInWith(url)).status).toBe(200);
  }
  expect(provider.count('/keys')).toBe(3);
});

it('metadata and keys are asked for once, and again after some minutes', async () => {
  const metadata = '/.well-known/openid-configuration';
  const { provider, url } = await startWith({ idToken: { name: 'x', roles: ['viewer'] } });
  await Promise.all([1, 2, 3, 4, 5].map(() => signInWith(url)));
  await signInWith(url);
  expect([provider.count(metadata), provider.count('/keys')]).toEqual([1, 1]);

  const { provider: next, url: another } = await startWith({}, {}, { discoveryMs: 1 });
  const start = () => fetch(`${another}/console/sign-in/start`, { redirect: 'manual' });
  await until(async () => (await start()).status === 303 && next.count(metadata) > 1);
});

it('a wrong issuer is logged with both names', async () => {
  const told = 'https://login.example/tenant/';
  const { provider, url, lines } = await startWith({ metadata: { issuer: told } });
  expect((await signInWith(url)).status).toBe(503);
  expect(lines.join('')).toContain(
    `OIDC_ISSUER is ${provider.issuer}, but the provider calls itself ${told}`,
  );
});

it('an issuer of all tenants is refused', async () => {
  const { url, lines } = await startWith({ path: '/{tenantid}/v2.0', idToken: { roles: ['privacy'] } });
  expect((await signInWith(url)).status).toBe(503);
  expect(lines.join('')).toContain('{tenantid}');
});

it.each(['/.well-known/openid-configuration', '/keys', '/token', '/userinfo'])(
  'an endless response to %s is not read, and one that does not come is not waited for',
  async (path) => {
    let written = 0;
    const endless = (res: ServerResponse) => {
      res.writeHead(200, { 'Content-Type': 'application/json' }).write('{"padding":"');
      const write = () => {
        while (!res.destroyed && res.write('x'.repeat(65_536))) written += 65_536;
      };
      res.on('drain', write);
      write();
    };
    for (const answer of [endless, () => {}]) {
      const { url } = await startWith(
        {
          idToken: { name: 'x' },
          userInfo: { roles: ['viewer'] },
          answer: (req, res) => {
            if (!req.url!.startsWith(path)) return false;
            answer(res);
            return true;
          },
        },
        {},
        { timeoutMs: 1_000 },
      );
      expect((await signInWith(url)).status).toBe(503);
    }
    // What the sockets' buffers take, beside the limit.
    expect(written).toBeLessThan(20_000_000);
  },
);
