import { useConsole } from '../console/use-console.ts';
import { visitWith } from '../console/visitor.ts';
import { type FakeProvider, signInWith, startFakeProvider } from '../support/fake-provider.ts';
import { oidcSettings } from '../support/oidc-settings.ts';

let provider: FakeProvider;
const { database, service } = useConsole({
  prepare: async () => {
    provider = await startFakeProvider();
    return { oidc: oidcSettings(provider.issuer) };
  },
});
afterAll(() => provider.stop());

const person = { name: 'Asha', email: 'asha@clinic.example', email_verified: true };
const lastEntry = async () =>
  (await database.rows('select actor, action, filter from access_log order by entry desc limit 1'))[0]!;
const statusOf = async (cookie: string) =>
  (await fetch(`${service.url}/console/reports`, { headers: { cookie } })).status;

it.each(['viewer', 'operator', 'privacy'])(
  'a user of the identity provider signs in with the role %s, and signs out',
  async (role) => {
    provider.become({ ...person, roles: [role, 'unknown'] });
    const { status, text, cookie } = await signInWith(service.url, '/deliveries');
    expect([status, text]).toEqual([200, expect.stringContaining('url=/console/deliveries')]);
    expect(await lastEntry()).toMatchObject({ action: 'sign-in', actor: 'subject-1', filter: { role } });
    expect(await statusOf(cookie)).toBe(200);
    const visitor = await visitWith(service.url, cookie);
    await visitor.post('/sign-out');
    expect(await lastEntry()).toMatchObject({ action: 'sign-out', actor: 'subject-1' });
  },
);

it('nobody gets in without a role of the console, or with an answer that this browser has not asked for', async () => {
  provider.become({ ...person, roles: ['unknown'] });
  const refused = await signInWith(service.url);
  expect([refused.status, await statusOf(refused.cookie)]).toEqual([403, 401]);
  expect(await lastEntry()).toMatchObject({ action: 'sign-in failed', filter: { reason: 'no role' } });

  provider.become({ ...person, roles: ['privacy'] });
  const { back } = await signInWith(service.url);
  const elsewhere = await fetch(back, { redirect: 'manual' });
  expect(elsewhere.status).toBeGreaterThanOrEqual(400);
  expect(await statusOf(elsewhere.headers.getSetCookie().join('; '))).toBe(401);
});
