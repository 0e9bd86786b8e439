import type { Config } from '../../src/config/config.ts';
import { startFakeProvider } from '../support/fake-provider.ts';
import { oidcSettings } from '../support/oidc-settings.ts';
import { testConfig } from '../support/service.ts';
import { useConsole } from './use-console.ts';
import { adminToken, postForm } from './visitor.ts';

const { service, logged, startAnother } = useConsole();

const publicUrl = 'https://receiver.clinic.invalid';
const forged = { 'X-Forwarded-Host': 'elsewhere.invalid', 'X-Forwarded-Proto': 'http' };

const startBehindProxy = (config: Partial<Config> = {}) => {
  const authentication = { ...testConfig({}).authentication, trustProxy: 1 };
  return startAnother({ adminToken, authentication, ...config });
};
const signIn = (url: string, headers: Record<string, string>) =>
  postForm(`${url}/console/sign-in`, { token: adminToken }, headers);

it('behind a trusted proxy that rewrites Host, forms are compared with the host that it forwards', async () => {
  const { url } = await startBehindProxy();
  const forwarded = { 'X-Forwarded-Host': 'receiver.clinic.invalid:8000' };
  const own = await signIn(url, { ...forwarded, Origin: 'http://receiver.clinic.invalid:8000' });
  expect(own.status).toBe(303);
  for (const Origin of ['http://elsewhere.invalid', new URL(url).origin, 'null']) {
    expect([Origin, (await signIn(url, { ...forwarded, Origin })).status]).toEqual([Origin, 403]);
  }
});

it('without a trusted proxy, X-Forwarded-Host counts for nothing', async () => {
  const headers = { 'X-Forwarded-Host': 'elsewhere.invalid' };
  expect((await signIn(service.url, { ...headers, Origin: 'http://elsewhere.invalid' })).status).toBe(403);
  expect((await signIn(service.url, { ...headers, Origin: service.url })).status).toBe(303);
});

it('a refused form says what was compared, and what to set; so does the log', async () => {
  const response = await signIn(service.url, { Origin: 'http://receiver.clinic.invalid' });
  const text = await response.text();
  expect(response.status).toBe(403);
  for (const part of ['http://receiver.clinic.invalid', service.url, 'PUBLIC_URL'])
    expect(text).toContain(part);
  const line = logged
    .map((one) => JSON.parse(one))
    .find(({ msg }) => msg.includes('another site was refused'));
  expect(line).toMatchObject({ level: 40 });
});

it('PUBLIC_URL decides which forms are accepted, whatever is forwarded', async () => {
  const { url } = await startBehindProxy({ publicUrl });
  expect((await signIn(url, { ...forged, Origin: publicUrl })).status).toBe(303);
  for (const Origin of ['http://elsewhere.invalid', url, 'http://receiver.clinic.invalid']) {
    const response = await signIn(url, { ...forged, Origin });
    expect([Origin, response.status]).toEqual([Origin, 403]);
    expect(await response.text()).toContain(`at ${publicUrl}. That is PUBLIC_URL`);
  }
});

it('PUBLIC_URL decides whether cookies are secure, and the addresses that the console prints', async () => {
  const { url } = await startBehindProxy({ publicUrl });
  const cookie = (await signIn(url, { ...forged, Origin: publicUrl })).headers.get('set-cookie')!;
  expect(cookie).toContain('Secure');
  const page = await fetch(`${url}/console`, { headers: { ...forged, cookie: cookie.split(';')[0]! } });
  const text = await page.text();
  expect(text).toContain(`${publicUrl}/events`);
  expect(text).not.toContain('elsewhere.invalid');
});

it('PUBLIC_URL decides where the identity provider sends users back', async () => {
  const provider = await startFakeProvider({});
  const { url } = await startBehindProxy({ publicUrl, oidc: oidcSettings(provider.issuer) });
  const response = await fetch(`${url}/console/sign-in/start`, { headers: forged, redirect: 'manual' });
  await provider.stop();
  const location = new URL(response.headers.get('location')!);
  expect(location.searchParams.get('redirect_uri')).toBe(`${publicUrl}/console/sign-in/callback`);
});
