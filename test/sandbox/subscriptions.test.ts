import { sandboxCredentials } from '../../src/sandbox/logins.ts';
import { type Sandbox, sandboxToken, startSandbox } from '../../src/sandbox/server.ts';

let sandbox: Sandbox;
beforeEach(async () => {
  sandbox = await startSandbox({ expiresIn: 100 });
});
afterEach(async () => {
  jest.restoreAllMocks();
  await sandbox.close();
});

const login = '/connect-auth/v1/account/login';
const path = '/notification/v1/connect/webhook/subscriptions';
const endpoint = 'https://receiver.example/events';
const credentials = {
  client_id: sandboxCredentials.clientId,
  client_secret: sandboxCredentials.clientSecret,
};

async function send(method: string, path: string, body?: unknown, token = sandboxToken) {
  const response = await fetch(sandbox.url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text && JSON.parse(text) };
}

describe('the login', () => {
  it('issues a token that every other operation accepts until it expires', async () => {
    const { status, body } = await send('POST', login, credentials);
    expect([status, body]).toEqual([
      200,
      {
        access_token: expect.any(String),
        expires_in: 100,
        refresh_token: expect.any(String),
        refresh_expires_in: 86_400,
      },
    ]);
    const withToken = (path: string) => send('GET', path, undefined, body.access_token);
    expect((await withToken(path)).status).toBe(200);
    expect((await withToken('/medical-db/v1/drugs-and-labs?q=a')).status).toBe(200);

    const now = performance.now.bind(performance);
    jest.spyOn(performance, 'now').mockImplementation(() => now() + 101_000);
    expect((await withToken(path)).status).toBe(401);
  });

  it('issues a new token each time, and the former ones stay valid', async () => {
    const first = (await send('POST', login, credentials)).body.access_token;
    const second = (await send('POST', login, credentials)).body.access_token;
    expect(second).not.toBe(first);
    for (const token of [first, second]) {
      expect((await send('GET', path, undefined, token)).status).toBe(200);
    }
  });

  const refresh = '/connect-auth/v1/account/refresh-token';
  const post = (path: string, headers: Record<string, string>, body: unknown) =>
    fetch(sandbox.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });

  it('refreshes a pair once, for its client and with a valid token', async () => {
    const { access_token, refresh_token } = (await send('POST', login, credentials)).body;
    const headers = { authorization: `Bearer ${access_token}`, 'client-id': credentials.client_id };
    for (const [others, body, status] of [
      [{ authorization: 'Bearer other' }, { refresh_token }, 401],
      [{ 'client-id': 'other' }, { refresh_token }, 401],
      [{}, { refresh_token: access_token }, 401],
      [{}, {}, 400],
    ] as const) {
      expect((await post(refresh, { ...headers, ...others }, body)).status).toBe(status);
    }
    const refreshed = await post(refresh, headers, { refresh_token });
    const next = (await refreshed.json()) as { access_token: string };
    expect((await send('GET', path, undefined, next.access_token)).status).toBe(200);
    expect((await post(refresh, headers, { refresh_token })).status).toBe(401);
  });

  it.each([
    ['a wrong secret', { ...credentials, client_secret: 'other' }, 401],
    ['another client', { ...credentials, client_id: 'other' }, 401],
    ['no secret', { client_id: credentials.client_id }, 400],
    ['nothing', undefined, 400],
  ])('rejects %s', async (_, body, status) => {
    expect((await send('POST', login, body)).status).toBe(status);
  });

  it('accepts other credentials where they are given', async () => {
    const other = await startSandbox({ credentials: { clientId: 'a', clientSecret: 'b' } });
    const body = JSON.stringify({ client_id: 'a', client_secret: 'b' });
    const headers = { 'content-type': 'application/json' };
    expect((await fetch(other.url + login, { method: 'POST', headers, body })).status).toBe(200);
    await other.close();
  });
});

describe('subscriptions', () => {
  it('are created, listed with their keys, and deleted', async () => {
    const request = { endpoint, event_names: ['receipt.created'], signing_key: 'key', protocol: 'https' };
    const created = await send('POST', path, request);
    expect(created).toEqual({ status: 201, body: { id: expect.any(String), status: expect.any(String) } });
    const { id } = created.body;
    expect((await send('GET', path)).body).toMatchObject({
      data: [{ id, ...request }],
      msg: expect.any(String),
    });
    expect(await send('DELETE', `${path}/${id}`)).toEqual({ status: 200, body: '' });
    expect((await send('GET', path)).body.data).toEqual([]);
  });

  it('exist once for each endpoint', async () => {
    expect((await send('POST', path, { endpoint })).status).toBe(201);
    expect(await send('POST', path, { endpoint, protocol: 'http' })).toMatchObject({
      status: 400,
      body: { error: { code: 'INVALID_REQUEST', message: expect.any(String) } },
    });
    expect((await send('POST', path, { endpoint: `${endpoint}/second` })).status).toBe(201);
  });

  it.each([{}, { endpoint: '' }, { endpoint, event_names: 'receipt.created' }, { endpoint, signing_key: 7 }])(
    'are not created from %j',
    async (body) => {
      expect(await send('POST', path, body)).toMatchObject({
        status: 400,
        body: { error: { code: 'INVALID_REQUEST' } },
      });
    },
  );

  it('are not found after their deletion', async () => {
    const { id } = (await send('POST', path, { endpoint })).body;
    await send('DELETE', `${path}/${id}`);
    expect((await send('DELETE', `${path}/${id}`)).status).toBe(404);
  });

  it.each(['GET', 'POST', 'DELETE'])('need a token: %s', async (method) => {
    const body = method === 'POST' ? { endpoint } : undefined;
    expect((await send(method, method === 'DELETE' ? `${path}/a` : path, body, 'other')).status).toBe(401);
  });
});

it('a path below /fault-NAME has that fault, and is the regular one without', async () => {
  expect((await send('GET', `/fault-503${path}`)).status).toBe(503);
  expect((await send('POST', `/fault-429${login}`, credentials)).status).toBe(429);
  expect((await send('GET', `/fault-none${path}`)).status).toBe(200);
  expect((await send('GET', `/fault-once-500${path}`)).status).toBe(500);
  expect((await send('GET', `/fault-once-500${path}`)).status).toBe(200);
});

it('with the fault lost, a request takes effect and has no response', async () => {
  await expect(send('POST', `/fault-lost${path}`, { endpoint })).rejects.toThrow();
  expect((await send('GET', path)).body.data).toMatchObject([{ endpoint }]);
});
