import { inspect } from 'node:util';
import { loginTokenSource, type ServiceError } from '../../src/client/index.ts';
import { sandboxCredentials } from '../../src/sandbox/platform-server.ts';
import { listen } from '../support/listen.ts';
import { failureOf, usePlatform } from './platform.ts';

const platform = usePlatform();
let passedSeconds = 0;
beforeEach(() => {
  passedSeconds = 0;
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + passedSeconds * 1000);
});
afterEach(() => jest.restoreAllMocks());

/** A client that logs in; `fault` is one of its logins, not of its calls. */
function clientWith(fault = 'none', credentials = sandboxCredentials) {
  const baseUrl = `${platform.sandbox().url}/fault-${fault}`;
  return platform.client('none', { token: loginTokenSource({ baseUrl, ...credentials }) });
}
const isLogin = ({ path }: { path: string }) => path.endsWith('/connect-auth/v1/account/login');
const logins = () => platform.requests().filter(isLogin).length;

it('calls share one login, whose token is used until a fifth of its lifetime is left', async () => {
  const client = clientWith();
  await Promise.all(Array.from({ length: 20 }, () => client.searchDrugsAndLabs({ q: 'a' })));
  passedSeconds += 2_800;
  await client.searchDrugsAndLabs({ q: 'a' });
  const [first] = platform.requests();
  const body = { client_id: 'sandbox-client', client_secret: 'sandbox-secret' };
  expect(first).toMatchObject({ method: 'POST', body });
  expect(first).not.toHaveProperty('headers.authorization');
  expect([logins(), platform.requests().length]).toEqual([1, 22]);
  passedSeconds += 100;
  await client.searchDrugsAndLabs({ q: 'a' });
  expect(logins()).toBe(2);
});

it('a token that the platform refuses is replaced', async () => {
  const client = clientWith();
  await client.searchDrugsAndLabs({ q: 'a' });
  platform.sandbox().accept([]);
  await client.searchDrugsAndLabs({ q: 'a' });
  expect(logins()).toBe(2);
});

it('a login that fails is tried again with the call, and a wrong secret is not', async () => {
  await clientWith('once-503').searchDrugsAndLabs({ q: 'a' });
  expect(logins()).toBe(2);
  const secret = 'a-wrong-secret';
  const failing = clientWith('none', { ...sandboxCredentials, clientSecret: secret });
  const error = (await failureOf(failing.searchDrugsAndLabs({ q: 'a' }))) as ServiceError;
  expect(error).toMatchObject({ name: 'Unauthorized', status: undefined });
  expect(error.message).toContain('the token source failed (login: the platform responded with 401)');
  expect(inspect(error, { depth: null, showHidden: true })).not.toContain(secret);
  expect(logins()).toBe(3);
});

it('a token is used until it expires where no other can be had', async () => {
  let status = 200;
  const baseUrl = await listen((_req, res) =>
    res.writeHead(status).end('{"access_token":"one","expires_in":100}'),
  );
  const token = loginTokenSource({ baseUrl, ...sandboxCredentials });
  const { signal } = new AbortController();
  expect(await token({ signal })).toBe('one');
  [status, passedSeconds] = [503, 90];
  expect(await token({ signal })).toBe('one');
  passedSeconds = 101;
  await expect((async () => token({ signal }))()).rejects.toThrow('503');
});
