import request from 'supertest';
import { createLog } from '../../src/common/log.ts';
import { rateLimit } from '../../src/common/rate-limit.ts';
import { isSameSecret } from '../../src/common/secret.ts';
import { parseConfig } from '../../src/config/config.ts';
import { families } from '../../src/families/index.ts';
import { createTokenAccess } from '../../src/http/admin.ts';
import { createApp } from '../../src/http/app.ts';
import { until } from '../support/until.ts';

const token = 'an-admin-token-of-tests';

const metricsToken = 'a-metrics-token-of-tests';

/** Without a token of their own, metrics take the admin token. */
function app(metrics?: string) {
  const wrong: string[] = [];
  const accessOf = (secret: string, name: string) =>
    createTokenAccess({
      token: secret,
      name,
      trustProxy: 0,
      attempts: rateLimit({ points: 3, durationS: 60 }),
      onWrong: (address) => void wrong.push(address),
    });
  const admin = accessOf(token, 'admin token');
  const server = createApp({
    callbacks: new Map(),
    health: [{ name: 'access', check: async () => 'a detail' }],
    admin,
    metrics: {
      access: metrics ? accessOf(metrics, 'METRICS_TOKEN') : admin,
      scrape: async () => ({ contentType: 'text/plain', text: 'up 1' }),
    },
    log: createLog('silent'),
  });
  return Object.assign(server, { wrong });
}

it('only requests with the admin token pass', async () => {
  const get = (authorization?: string) => {
    const pending = request(app()).get('/metrics');
    return authorization ? pending.set('Authorization', authorization) : pending;
  };
  expect((await get(`Bearer ${token}`)).text).toBe('up 1');
  for (const wrong of [
    undefined,
    'Bearer',
    `Basic ${token}`,
    `Bearer ${token}x`,
    `Bearer ${token.slice(1)}`,
    token,
  ]) {
    const response = await get(wrong);
    expect([wrong, response.status]).toEqual([wrong, 401]);
    expect(response.body).toEqual({
      type: 'about:blank',
      title: 'Unauthorized',
      status: 401,
      detail: 'Send the header Authorization: Bearer <admin token>.',
    });
  }
});

const bearer = (server: ReturnType<typeof app>, path: string, given: string) =>
  request(server).get(path).set('Authorization', `Bearer ${given}`);

it('beyond the limit of wrong tokens none is compared, not even the right one; a request without a token is not counted', async () => {
  const server = app();
  for (let time = 0; time < 10; time += 1) {
    expect((await request(server).get('/metrics')).status).toBe(401);
  }
  const get = (given: string) => bearer(server, '/metrics', given);
  expect((await get(token)).status).toBe(200);
  await until(async () => (await get('guess')).status === 429);
  // Every guess that was compared was told.
  const { length } = server.wrong;
  expect(length).toBeGreaterThan(2);
  for (const given of ['guess', token]) {
    const rejected = await get(given);
    expect([given, rejected.status]).toEqual([given, 429]);
    expect(Number(rejected.headers['retry-after'])).toBeGreaterThan(0);
  }
  expect(server.wrong).toHaveLength(length);
});

it('guesses at /readyz count as those elsewhere, and it responds beyond the limit as to anybody', async () => {
  const server = app();
  const detailOf = async (given: string) => (await bearer(server, '/readyz', given)).body.parts.access.detail;
  expect(await detailOf(token)).toBe('a detail');
  await until(async () => {
    expect(await detailOf('guess')).toBeUndefined();
    return (await bearer(server, '/metrics', 'guess')).status === 429;
  });
  const response = await bearer(server, '/readyz', token);
  expect([response.status, response.body.parts.access]).toEqual([200, { ok: true }]);
});

it('a token of its own scrapes and opens nothing else, and its failures use up no attempts of the admin token', async () => {
  const server = app(metricsToken);
  const status = async (path: string, given: string) => (await bearer(server, path, given)).status;
  expect(await status('/metrics', metricsToken)).toBe(200);
  expect((await bearer(server, '/readyz', metricsToken)).body.parts.access).toEqual({ ok: true });
  const refused = await bearer(server, '/metrics', token);
  expect([refused.status, refused.body.detail]).toEqual([
    401,
    'Send the header Authorization: Bearer <METRICS_TOKEN>.',
  ]);
  await until(async () => (await status('/metrics', 'guess')) === 429);
  expect((await bearer(server, '/readyz', token)).body.parts.access.detail).toBe('a detail');
});

it('compares secrets of any length', () => {
  expect(isSameSecret('a', 'a')).toBe(true);
  for (const other of ['', 'b', 'aa']) expect(isSameSecret(other, 'a')).toBe(false);
});

it('no callback can be registered at a path that the receiver uses itself', () => {
  const own = app().router.stack.flatMap(({ route }) => route?.path ?? []);
  expect(own).toContain('/metrics');
  for (const path of [...own, '/console']) {
    expect(() => parseConfig({ RECEIPTS_PATH: path }, families)).toThrow();
  }
});
