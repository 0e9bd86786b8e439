import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createLog } from '../../src/common/log.ts';
import { parseConfig } from '../../src/config/config.ts';
import { families } from '../../src/families/index.ts';
import { createApp } from '../../src/http/app.ts';
import type { Handler } from '../../src/http/callback-handler.ts';
import { sendJson } from '../../src/http/responses.ts';
import { type HttpServer, listen } from '../../src/http/server.ts';
import { until } from '../support/until.ts';

let server: HttpServer;
let started: number;
let finish: () => void;
const sockets: Socket[] = [];

async function start(
  changed: Partial<ReturnType<typeof parseConfig>['limits']['connections']> = {},
  env = {},
) {
  const config = parseConfig({ PORT: '0', ...env }, families);
  const limits = { ...config.limits, connections: { ...config.limits.connections, ...changed } };
  started = 0;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const accept: Handler = async (_req, res) => sendJson(res, 200, { status: 'accepted' });
  const prepare: Handler = async (_req, res) => {
    started += 1;
    await finished;
    sendJson(res, 200, { status: 'accepted' });
  };
  const callbacks = new Map([
    ['/accepted', accept],
    ['/slow', prepare],
  ]);
  const log = createLog('silent');
  const app = createApp({ callbacks: new Map(), health: [], log });
  server = await listen(app, callbacks, { ...config, drainMs: 0, limits }, { log });
}
afterEach(async () => {
  finish();
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.stop();
});

/** A connection that is kept open, and what came on it. */
async function open(bytes = '', localAddress = '127.0.0.1') {
  const { port } = new URL(server.url);
  const socket = connect({ port: Number(port), host: '127.0.0.1', localAddress }).on('error', () => {});
  sockets.push(socket);
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
  });
  await once(socket, 'connect');
  socket.write(bytes);
  return {
    socket,
    isClosed: () => socket.closed,
    text: () => text,
    statuses: () => Array.from(text.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => Number(status)),
  };
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const settled = async (count: number) => until(async () => (await server.connections()) === count);

describe('pipelined requests', () => {
  it('are all responded to, in order, as long as they are few', async () => {
    await start();
    const one = await open(`${get('/accepted')}${get('/nowhere')}${get('/healthz')}`);
    await until(() => one.statuses().length === 3);
    expect([one.statuses(), one.isClosed()]).toEqual([[200, 404, 200], false]);
  });

  it('that are more are not started: the last response closes the connection', async () => {
    await start();
    const one = await open(get('/slow').repeat(20));
    await until(() => started === 8);
    finish();
    await until(() => one.isClosed());
    expect([started, one.statuses().length]).toEqual([8, 8]);
    expect(one.text().match(/Connection: close/g)).toHaveLength(1);
  });

  it('close their connection at once if they are very many, and delay nobody', async () => {
    await start();
    for (let time = 0; time < 4; time += 1) {
      const one = await open(get('/slow').repeat(5_000));
      await until(() => one.isClosed());
    }
    expect(started).toBeLessThanOrEqual(4 * 8);
    const other = await open(get('/healthz'));
    await until(() => other.statuses()[0] === 200);
  });

  it.each([
    ['without a Host', 'GET /slow HTTP/1.1\r\n\r\n'],
    ['with an unknown expectation', 'GET /slow HTTP/1.1\r\nHost: x\r\nExpect: x\r\n\r\n'],
  ])('%s have the same limits as others', async (_name, request) => {
    await start();
    const begun = jest.fn();
    subscribe('http.server.request.start', begun);
    const one = await open(request.repeat(1_000));
    await until(() => one.isClosed());
    unsubscribe('http.server.request.start', begun);
    expect(begun.mock.calls.length).toBeLessThan(100);
  });

  it('may follow each other without end, one at a time', async () => {
    await start();
    const one = await open();
    for (let time = 1; time <= 100; time += 1) {
      one.socket.write(get('/accepted'));
      await until(() => one.statuses().length === time);
    }
    expect(one.isClosed()).toBe(false);
  });
});

describe('the connections of an address', () => {
  it('that send nothing make room for others, the oldest first', async () => {
    await start({ perAddress: 3 });
    const idle = await Promise.all([open(), open(), open()]);
    await settled(3);
    const closed = () => idle.filter((one) => one.isClosed()).length;
    await until(async () => {
      const other = await open(get('/healthz'));
      await until(() => other.isClosed() || other.statuses()[0] === 200);
      other.socket.destroy();
      return closed() > 0;
    });
    expect(closed()).toBe(1);
    expect(await server.connections()).toBeLessThanOrEqual(4);
  });

  it('that are more than its share are closed, and those of another address are not', async () => {
    await start({ perAddress: 3 });
    const idle = await Promise.all(Array.from({ length: 9 }, () => open('', '127.0.0.2')));
    await until(() => idle.filter((one) => one.isClosed()).length === 6);
    const other = await open(get('/healthz'), '127.0.0.3');
    await until(() => other.statuses()[0] === 200);
  });

  it('do not count once a callback on them was accepted, and are not closed', async () => {
    await start({ perAddress: 3 });
    const many = [];
    for (let time = 0; time < 9; time += 1) {
      const one = await open(get('/accepted'));
      await until(() => one.statuses()[0] === 200);
      many.push(one);
    }
    await settled(9);
    expect(many.filter((one) => one.isClosed())).toEqual([]);
  });

  it('are those of a proxy behind TRUST_PROXY, and do not count', async () => {
    await start({ perAddress: 3 }, { TRUST_PROXY: '1' });
    const many = await Promise.all(Array.from({ length: 9 }, () => open()));
    await settled(9);
    expect(many.filter((one) => one.isClosed())).toEqual([]);
  });

  it('on which a response is prepared are not closed for new ones', async () => {
    await start({ perAddress: 3 });
    const busy = await Promise.all([open(get('/slow')), open(get('/slow')), open(get('/slow'))]);
    await until(() => started === 3);
    const other = await open(get('/healthz'));
    await until(() => other.isClosed());
    expect(other.statuses()).toEqual([]);
    finish();
    await until(() => busy.every((one) => one.statuses()[0] === 200));
  });
});

describe('where all connections are in use', () => {
  it('there is room for health checks, and a callback is not responded to', async () => {
    await start({ total: 2, forHealth: 2 });
    await Promise.all([open(get('/slow')), open(get('/slow'))]);
    await until(() => started === 2);
    for (let time = 0; time < 5; time += 1) {
      await open(); // another that waits in the room for health checks
      for (const path of ['/healthz', '/readyz']) {
        const check = await open(get(path));
        await until(() => check.isClosed());
        expect(check.statuses()).toEqual([200]);
        expect(check.text()).toContain('Connection: close');
      }
    }
    const callback = await open(get('/accepted'));
    await until(() => callback.isClosed());
    expect(callback.statuses()).toEqual([]);
  });

  it('the address with the most makes room for others, even if it keeps its connections in use', async () => {
    await start({ total: 4, forHealth: 1 });
    const most = await Promise.all(Array.from({ length: 3 }, () => open(get('/healthz'), '127.0.0.2')));
    const few = await open(get('/healthz'), '127.0.0.3');
    await settled(4);
    const again = await open(get('/accepted'), '127.0.0.4');
    await until(() => again.statuses()[0] === 200);
    expect([most.filter((one) => one.isClosed()).length, few.isClosed()]).toEqual([1, false]);
  });

  it('no address makes room for one that has as many, and none by a request that is handled', async () => {
    await start({ total: 4, forHealth: 1 });
    await Promise.all(Array.from({ length: 3 }, () => open(get('/slow'), '127.0.0.2')));
    await until(() => started === 3);
    const few = await open(get('/healthz'), '127.0.0.3');
    await until(() => few.statuses()[0] === 200);
    const callback = await open(get('/accepted'), '127.0.0.4');
    await until(() => callback.isClosed());
    expect([callback.statuses(), few.isClosed()]).toEqual([[], false]);
  });

  it('idle ones of many addresses make room', async () => {
    await start({ total: 4, forHealth: 1 });
    const idle = await Promise.all(Array.from({ length: 4 }, (_, index) => open('', `127.0.0.${2 + index}`)));
    await settled(4);
    await until(async () => {
      const one = await open(get('/accepted'));
      await until(() => one.isClosed() || one.statuses()[0] === 200);
      return one.statuses()[0] === 200;
    });
    expect(idle.filter((one) => one.isClosed())).toHaveLength(1);
  });
});

it('a request without a Host gets a 400, and an unknown expectation changes nothing', async () => {
  await start();
  const without = await open('GET /accepted HTTP/1.1\r\n\r\n');
  await until(() => without.isClosed());
  expect(without.statuses()).toEqual([400]);
  for (const request of ['HTTP/1.1\r\nHost: x\r\nExpect: x', 'HTTP/1.0']) {
    const one = await open(`GET /accepted ${request}\r\n\r\n`);
    await until(() => one.statuses().length === 1);
    expect(one.statuses()).toEqual([200]);
  }
});

it('the last of many headers counts: a proxy appends the address of the sender', async () => {
  await start();
  const one = await open(`GET /accepted HTTP/1.1\r\n${'a:\r\n'.repeat(3_000)}Host: x\r\n\r\n`);
  await until(() => one.statuses().length === 1);
  expect(one.statuses()).toEqual([200]);
});

it('no response may be cached on its way, so that a cache does not answer for a receiver that is down', async () => {
  await start();
  for (const path of ['/healthz', '/readyz', '/nowhere', '/accepted']) {
    const response = await fetch(server.url + path);
    expect([path, response.headers.get('cache-control')]).toEqual([path, 'no-store']);
  }
});
