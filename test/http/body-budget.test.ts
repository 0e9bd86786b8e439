import { EventEmitter, once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import fc from 'fast-check';
import { BodyBudget } from '../../src/http/body-budget.ts';
import { Busy } from '../../src/http/errors.ts';
import { readBody } from '../../src/http/read-body.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { startTestService, testConfig } from '../support/service.ts';
import { until } from '../support/until.ts';

const options = { bytes: 100, smallBytes: 10, maxWaiting: 1_000, waitMs: 60_000 };

it('never exceeds its limit, and starts every body eventually, in any order of arrivals and releases', async () => {
  const sizes = fc.array(fc.integer({ min: 11, max: 150 }), { minLength: 1, maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(sizes, fc.infiniteStream(fc.nat()), async (all, picks) => {
      const budget = new BodyBudget(options);
      const inside: { bytes: number; release: () => void }[] = [];
      let entered = 0;
      for (const bytes of all) {
        void budget.enter(bytes).then((release) => {
          entered += 1;
          inside.push({ bytes, release });
        });
      }
      while (entered < all.length || inside.length > 0) {
        await new Promise(setImmediate);
        const used = inside.reduce((sum, { bytes }) => sum + bytes, 0);
        expect(inside.length === 1 || used <= options.bytes).toBe(true);
        expect(inside.length).toBeGreaterThan(0);
        const [released] = inside.splice(picks.next().value % inside.length, 1);
        released!.release();
      }
    }),
  );
});

it('raises Busy if a body waits too long, too many wait, or it may not wait; a small body never waits', async () => {
  const budget = new BodyBudget({ ...options, maxWaiting: 1, waitMs: 50 });
  const release = await budget.enter(100);
  const waiting = budget.enter(50);
  await expect(budget.enter(50)).rejects.toThrow(Busy);
  expect(() => budget.enterNow(50)).toThrow(Busy);
  await expect(waiting).rejects.toThrow(Busy);
  await budget.enter(10);
  release();
  budget.enterNow(100);
});

it('a body is read byte for byte in chunks of any size, with and without Content-Length', async () => {
  const body = fc.uint8Array({ maxLength: 500 });
  await fc.assert(
    fc.asyncProperty(
      body,
      fc.array(fc.integer({ min: 1, max: 90 })),
      fc.boolean(),
      async (bytes, cuts, hasLength) => {
        const headers = hasLength ? { 'content-length': String(bytes.length) } : {};
        const req = Object.assign(new EventEmitter(), { headers, complete: true });
        const read = readBody(req as unknown as IncomingMessage, 500);
        let at = 0;
        for (const cut of cuts.filter(() => at < bytes.length)) {
          req.emit('data', Buffer.from(bytes.subarray(at, at + cut)));
          at += cut;
        }
        if (at < bytes.length) req.emit('data', Buffer.from(bytes.subarray(at)));
        req.emit('end');
        expect(await read).toEqual(Buffer.from(bytes));
      },
    ),
  );
});

describe('of a receiver', () => {
  let database: TestDatabase;
  let service: Awaited<ReturnType<typeof startTestService>>;
  const sockets: Socket[] = [];
  const { limits } = testConfig({});
  beforeAll(async () => {
    database = await createDatabase();
  });
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await service.stop();
  });
  afterAll(() => database.close());

  const start = async (waitMs: number) => {
    const bodies = { bytes: 100_000, smallBytes: 5_000, maxWaiting: 10, waitMs };
    const own = { databaseUrl: database.url, role: 'receiver', limits: { ...limits, bodies } } as const;
    service = await startTestService(own);
  };
  let number = 0;
  /** A sender of a body of about this many bytes, which sends all of it but the last. */
  const send = async (bytes: number) => {
    number += 1;
    const body = JSON.stringify(
      receiptCallback({ data: { receipt_id: number, remarks: 'x'.repeat(bytes) } }),
    );
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1').on('error', () => {});
    sockets.push(socket);
    await once(socket, 'connect');
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    socket.write(`POST ${paths.receipt} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`);
    socket.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body.slice(0, -1)}`);
    return {
      finish: () => socket.write('}'),
      responseStatus: () => /^HTTP\/1\.1 (\d+)/.exec(text)?.[1],
      text: () => text,
    };
  };

  it('large bodies are read one after the other, small ones at once', async () => {
    await start(20_000);
    const first = await send(90_000);
    const second = await send(90_000);
    second.finish();
    const small = await send(0);
    small.finish();
    await until(() => small.responseStatus() === '200');
    expect([first.responseStatus(), second.responseStatus()]).toEqual([undefined, undefined]);
    first.finish();
    await until(() => first.responseStatus() === '200' && second.responseStatus() === '200');
  });

  it('a body that waits too long for the budget is rejected with 503 and Retry-After, and the next one is accepted', async () => {
    await start(100);
    const first = await send(90_000);
    const second = await send(90_000);
    await until(() => second.responseStatus() === '503');
    expect(second.text()).toMatch(/Retry-After: \d/);
    first.finish();
    await until(() => first.responseStatus() === '200');
    const third = await send(90_000);
    third.finish();
    await until(() => third.responseStatus() === '200');
  });

  it('a body without a length counts only from the moment that it is large, and the connection can be used after a 503', async () => {
    await start(20_000);
    const first = await send(90_000);
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1').on('error', () => {});
    sockets.push(socket);
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    const sendChunked = (bytes: number) => {
      const body = JSON.stringify(
        receiptCallback({ data: { receipt_id: 1_000, remarks: 'x'.repeat(bytes) } }),
      );
      socket.write(`POST ${paths.receipt} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`);
      socket.write('Transfer-Encoding: chunked\r\n\r\n');
      for (const part of body.match(/.{1,1000}/gs)!) {
        socket.write(`${Buffer.byteLength(part).toString(16)}\r\n${part}\r\n`);
      }
      socket.write('0\r\n\r\n');
    };
    const statuses = () => Array.from(text.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status);
    sendChunked(0);
    await until(() => statuses().length === 1);
    sendChunked(20_000);
    await until(() => statuses().length === 2);
    sendChunked(0);
    await until(() => statuses().length === 3);
    expect(statuses()).toEqual(['200', '503', '200']);
    first.finish();
    await until(() => first.responseStatus() === '200');
  });

  it('a connection closed while it waits, or in the middle of its body, releases its share of the budget', async () => {
    await start(20_000);
    for (let time = 0; time < 3; time += 1) await send(90_000);
    for (const socket of sockets.splice(0)) socket.destroy();
    const next = await send(90_000);
    next.finish();
    await until(() => next.responseStatus() === '200');
  });
});
