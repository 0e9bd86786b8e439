import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createLog } from '../../src/common/log.ts';
import { parseConfig } from '../../src/config/config.ts';
import { families } from '../../src/families/index.ts';
import { createApp } from '../../src/http/app.ts';
import type { Handler } from '../../src/http/callback-handler.ts';
import { readBody } from '../../src/http/read-body.ts';
import { sendJson, sendProblem } from '../../src/http/responses.ts';
import { type HttpServer, listen } from '../../src/http/server.ts';
import { until } from '../support/until.ts';

const large = 'x'.repeat(1_000_000);
let finish: () => void;
const finished = new Promise<void>((resolve) => {
  finish = resolve;
});
const respondAfterBody =
  (reply: object, made: Promise<void> = Promise.resolve()): Handler =>
  async (req, res) => {
    try {
      await readBody(req, 1_000);
      await made;
      sendJson(res, 200, reply);
    } catch (error) {
      sendProblem(res, error);
    }
  };
const callbacks = new Map([
  ['/small', respondAfterBody({ status: 'accepted' })],
  ['/large', respondAfterBody({ large })],
  ['/slow', respondAfterBody({ status: 'accepted' }, finished)],
]);

let server: HttpServer;
const sockets: Socket[] = [];
beforeEach(async () => {
  const config = parseConfig({ PORT: '0' }, families);
  const limits = { ...config.limits, requestMs: 200, keepAliveMs: 100 };
  const log = createLog('silent');
  const app = createApp({ callbacks: new Map(), health: [], log });
  server = await listen(app, callbacks, { ...config, drainMs: 0, limits }, { log });
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.stop();
});

/** A sender that never closes its side, and reads nothing by default. */
async function sender(bytes: string): Promise<Socket> {
  const socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1', allowHalfOpen: true });
  sockets.push(socket);
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(bytes);
  return socket;
}

const head = (path: string, more: string) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${more}\r\n\r\n`;
const whole = (path: string) => `${head(path, 'Content-Length: 2')}{}`;

/** Keeps sending until the connection is closed. */
async function keepSending(socket: Socket, bytes: string): Promise<void> {
  const sending = setInterval(() => socket.write(bytes), 10);
  socket.once('close', () => clearInterval(sending));
}

it.each<[string, () => Promise<unknown>]>([
  ['sends nothing', () => sender('')],
  ['does not finish its headers, nor read the 408', () => sender('POST / HTTP/1.1\r\nX: ')],
  ['does not finish its body, nor read the 408', () => sender(`${head('/small', 'Content-Length: 9')}{`)],
  [
    'keeps sending after its 408',
    async () => keepSending(await sender(head('/small', 'Content-Length: 999')), '{'),
  ],
  ['sends bytes that are not HTTP, and does not read the 400', () => sender('nonsense\r\n\r\n')],
  ['does not read its 413', () => sender(head('/small', 'Content-Length: 9999'))],
  [
    'keeps sending after its 413',
    async () => keepSending(await sender(head('/small', 'Content-Length: 9999')), 'x'),
  ],
  [
    'keeps sending chunks after its 413',
    async () =>
      keepSending(await sender(head('/small', 'Transfer-Encoding: chunked')), `ff\r\n${'x'.repeat(255)}\r\n`),
  ],
  ['does not read the response to its callback', () => sender(whole('/small'))],
  [
    "does not read a response that is larger than the system's buffers",
    () => sender(whole('/large').repeat(9)),
  ],
  [
    'keeps sending bytes that are not the start of a request',
    async () => keepSending(await sender(whole('/small')), '\r\n'),
  ],
  [
    'sends requests without end, and reads no response',
    async () => keepSending(await sender(whole('/large')), whole('/large')),
  ],
])('the connection of a sender that %s is closed', async (_, send) => {
  await Promise.all(Array.from({ length: 5 }, send));
  await until(async () => (await server.connections()) > 0);
  await until(async () => (await server.connections()) === 0);
});

it('does not limit the time to prepare a response', async () => {
  const socket = await sender(whole('/slow'));
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
  });
  // Another connection that is closed in the meantime shows that the timeouts have passed.
  await sender(whole('/large').repeat(9));
  await until(async () => (await server.connections()) === 2);
  await until(async () => (await server.connections()) === 1);
  finish();
  await until(() => text.includes('accepted'));
});

it('sends a slow sender a 408 before it closes the connection', async () => {
  const socket = await sender(head('/small', 'Content-Length: 9'));
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
  });
  await until(() => text.includes('408 Request Timeout'));
});
