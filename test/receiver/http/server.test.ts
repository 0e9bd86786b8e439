import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { listen, PortUnavailable } from '../../../src/receiver/http/server.ts';
import { id, serve } from '../../support/serve.ts';
import { testConfig } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const get = 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n';
const dial = (url: string, request = '') => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(request);
  return socket;
};
/** Resolves once a connection has had an answer, and is idle. */
const idle = async (url: string) => {
  const socket = dial(url, get);
  const [response] = await once(socket, 'data');
  return { socket, response: String(response) };
};
const expectRefused = async (url: string) => {
  const [error] = await once(dial(url), 'error');
  expect(error.code).toBe('ECONNREFUSED');
};

test.each([
  ['a request that does not end', 'POST /receipts HTTP/1.1\r\nHost: a\r\n', 408],
  ['a body that does not end', 'POST /receipts HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{', 408],
])('%s is answered, and the connection is closed', async (_name, request, status) => {
  const { url } = await serve({ times: { requestMs: 100 } });
  expect(await text(dial(url, request))).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
});

test('a stop finishes what is in flight and accepts nothing more', async () => {
  let finish = (_: { status: 'accepted'; id: string }) => {};
  const receive = () => new Promise<{ status: 'accepted'; id: string }>((resolve) => (finish = resolve));
  const { url, post, received, stop } = await serve({ receive });
  const response = post('{}');
  await until(() => received.length === 1);
  const stopped = stop();
  await expectRefused(url);
  finish({ status: 'accepted', id });
  expect((await response).status).toBe(200);
  await stopped;
});

test('while a stop drains, old and new connections are served and closed; then none is accepted', async () => {
  const { url, stop } = await serve({ times: { stopDelayMs: 2_000 } });
  const { socket, response: first } = await idle(url);
  expect(first).toContain('Connection: keep-alive');
  const stopped = stop();
  socket.write(get);
  for (const response of [await text(socket), await text(dial(url, get))])
    expect(response).toMatch(/^HTTP\/1.1 200 .*Connection: close/s);
  await stopped;
  await expectRefused(url);
});

test('a stop waits for nobody where nobody has asked for anything', async () => {
  const { stop } = await serve({ times: { stopDelayMs: 3_600_000 } });
  await stop();
});

test('a stop closes idle connections; to stop twice is to stop once', async () => {
  const { url, stop } = await serve({ times: { stopMs: 3_600_000 } });
  const { socket } = await idle(url);
  const stopped = stop();
  expect(await text(socket)).toBe('');
  await Promise.all([stopped, stop()]);
  await stop();
});

test('a stop ends a request that does not finish', async () => {
  const { post, received, stop } = await serve({
    receive: () => new Promise(() => {}),
    times: { stopMs: 1 },
  });
  const response = post('{}').catch(() => 'closed');
  await until(() => received.length === 1);
  await stop();
  expect(await response).toBe('closed');
});

test('a port that is in use says what to do', async () => {
  const { url } = await serve();
  const port = Number(new URL(url).port);
  const second = listen((() => {}) as never, (() => {}) as never, testConfig({ port }));
  await expect(second).rejects.toThrow(PortUnavailable);
  await expect(second).rejects.toThrow(/set another PORT/);
});
