import supertest from 'supertest';
import type { Config } from '../../../src/common/config/config.ts';
import { oidcSettings, startFakeProvider } from '../../support/fake-provider.ts';
import { useReceiverDatabase } from '../../support/receiver-database.ts';
import { testConfig } from '../../support/service.ts';
import { adminToken, openApp } from '../support.ts';

const database = useReceiverDatabase();
const publicUrl = 'https://receiver.clinic.invalid';
const forged = { 'X-Forwarded-Host': 'elsewhere.invalid', 'X-Forwarded-Proto': 'http' };
const other = 'http://elsewhere.invalid';

const open = (trustProxy: number, config: Partial<Config> = {}) => {
  const authentication = { ...testConfig({}).authentication, trustProxy };
  return openApp(database, { publicUrl: undefined, authentication, ...config }).app;
};
const signIn = (app: ReturnType<typeof open>, headers: Record<string, string>) =>
  supertest(app).post('/console/sign-in').type('form').set(headers).send({ token: adminToken });

it('behind a trusted proxy that rewrites Host, forms are compared with the host that it forwards', async () => {
  const app = open(1);
  const headers = { 'X-Forwarded-Host': 'receiver.clinic.invalid:8000' };
  await signIn(app, { ...headers, Origin: 'http://receiver.clinic.invalid:8000' }).expect(303);
  for (const Origin of [other, 'null']) await signIn(app, { ...headers, Origin }).expect(403);
});

it('without a trusted proxy X-Forwarded-Host counts for nothing, and a refused form says what to set', async () => {
  const app = open(0);
  const Host = 'receiver.internal.invalid';
  await signIn(app, { ...forged, Host, Origin: `http://${Host}` }).expect(303);
  const { text } = await signIn(app, { ...forged, Host, Origin: other }).expect(403);
  for (const part of [other, `http://${Host}`, 'PUBLIC_URL']) expect(text).toContain(part);
});

it('PUBLIC_URL decides on forms, secure cookies, and where the identity provider sends users back', async () => {
  const provider = await startFakeProvider();
  const app = open(1, { publicUrl, oidc: oidcSettings(provider.issuer) });
  const { headers } = await signIn(app, { ...forged, Origin: publicUrl }).expect(303);
  expect(String(headers['set-cookie'])).toContain('Secure');
  for (const Origin of [other, 'http://receiver.clinic.invalid']) {
    const { text } = await signIn(app, { ...forged, Origin }).expect(403);
    expect(text).toContain(`at ${publicUrl}.`);
  }
  const start = await supertest(app).get('/console/sign-in/start').set(forged);
  await provider.stop();
  const asked = new URL(start.headers.location!).searchParams;
  expect(asked.get('redirect_uri')).toBe(`${publicUrl}/console/sign-in/callback`);
});
