import request from 'supertest';
import { parseConfig } from '../../src/config.ts';
import { families } from '../../src/families/index.ts';
import { createAdminAccess } from '../../src/http/admin.ts';
import { createApp } from '../../src/http/app.ts';
import { createLog } from '../../src/log.ts';
import { rateLimit } from '../../src/rate-limit.ts';
import { isSameSecret } from '../../src/secret.ts';
import { until } from '../support/until.ts';

const token = 'an-admin-token-of-tests';

function app() {
  const attempts = rateLimit('attempts', { points: 3, durationS: 60 }, undefined);
  return createApp({
    callbacks: new Map(),
    health: [],
    admin: {
      access: createAdminAccess(token, attempts, 0),
      scrape: async () => ({ contentType: 'text/plain', text: '' }),
      openapi: async () => ({ openapi: '3.1.0' }),
    },
    log: createLog('silent'),
  });
}

it('only requests with the admin token pass', async () => {
  const get = (authorization?: string) => {
    const pending = request(app()).get('/openapi.json');
    return authorization ? pending.set('Authorization', authorization) : pending;
  };
  expect((await get(`Bearer ${token}`)).body).toEqual({ openapi: '3.1.0' });
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

it('too many wrong tokens get 429; the right token always passes, and a request without a token is not counted', async () => {
  const server = app();
  for (let time = 0; time < 10; time += 1) {
    expect((await request(server).get('/openapi.json')).status).toBe(401);
  }
  const get = (given: string) => request(server).get('/openapi.json').set('Authorization', `Bearer ${given}`);
  expect((await get(token)).status).toBe(200);
  await until(async () => (await get('guess')).status === 429);
  expect((await get(token)).status).toBe(200);
  const rejected = await get('guess');
  expect(rejected.status).toBe(429);
  expect(Number(rejected.headers['retry-after'])).toBeGreaterThan(0);
});

it('compares secrets of any length', () => {
  expect(isSameSecret('a', 'a')).toBe(true);
  for (const other of ['', 'b', 'aa']) expect(isSameSecret(other, 'a')).toBe(false);
});

it('no callback can be registered at a path that the service uses itself', () => {
  const own = app().router.stack.flatMap(({ route }) => (route ? [route.path] : []));
  expect(own).toContain('/metrics');
  for (const path of [...own, '/console']) {
    expect(() => parseConfig({ RECEIPTS_PATH: path }, families)).toThrow();
  }
});
