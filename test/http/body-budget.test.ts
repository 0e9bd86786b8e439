import { EventEmitter, once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import fc from 'fast-check';
import { createBodyBudget } from '../../src/http/body-budget.ts';
import { Busy } from '../../src/http/errors.ts';
import { readBody } from '../../src/http/read-body.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { type startTestService, testConfig, useService } from '../support/service.ts';
import { until } from '../support/until.ts';

const options = {
  bytes: 100,
  bytesPerAddress: 60,
  leastBytesPerS: 1,
  smallBytes: 10,
  maxWaiting: 1_000,
  waitMs: 60_000,
};
const hasLength = { headers: {} };
const hasNone = { headers: { 'transfer-encoding': 'chunked' } };

it('exceeds its limits by one body at most, and every body is complete eventually, in any order of growth', async () => {
  const body = fc.record({ source: fc.constantFrom('a', 'b', 'c'), size: fc.integer({ min: 11, max: 150 }) });
  const all = fc.array(body, { minLength: 1, maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(all, fc.infiniteStream(fc.nat()), async (bodies, picks) => {
      const budget = createBodyBudget(options);
      const open = bodies.map((one) => {
        const memory = budget.open(one.source, hasLength);
        return { ...one, memory, charged: 0, isWaiting: false };
      });
      type Open = (typeof open)[number];
      const grow = (one: Open) => {
        const bytes = Math.min(one.size, one.charged + 1 + (picks.next().value % 60));
        const charged = () => Object.assign(one, { charged: bytes, isWaiting: false });
        const waiting = one.memory.grow(bytes);
        if (!waiting) return charged();
        one.isWaiting = true;
        return waiting.then(charged);
      };
      const rest = new Set(open);
      while (rest.size > 0) {
        await new Promise(setImmediate);
        const active = [...rest].filter(({ isWaiting }) => !isWaiting);
        expect(active.length).toBeGreaterThan(0);
        const one = active[picks.next().value % active.length]!;
        if (one.charged < one.size) void grow(one);
        else {
          one.memory.release();
          rest.delete(one);
        }
        const large = [...rest].filter(({ charged }) => charged > options.smallBytes);
        for (const [most, some] of [
          [options.bytes, large],
          ...['a', 'b', 'c'].map(
            (name) => [options.bytesPerAddress, large.filter(({ source }) => source === name)] as const,
          ),
        ] as const) {
          const sizes = some.map(({ charged }) => charged).toSorted((a, b) => a - b);
          expect(sizes.slice(0, -1).reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(most);
        }
      }
    }),
  );
});

it('bodies of senders that were never accepted leave half of the room to those that were', () => {
  const budget = createBodyBudget(options);
  budget.prove('platform');
  const many = Array.from({ length: 9 }, (_, index) => budget.open(`attacker ${index}`, hasLength));
  // Two fit, and one may exceed the limit.
  expect(many.filter((one) => one.grow(20) === undefined)).toHaveLength(3);
  const known = [budget.open('platform', hasLength), budget.open('platform', hasLength)];
  expect(known.map((one) => one.grow(20))).toEqual([undefined, undefined]);
  for (const one of [...many, ...known]) one.release();
  expect(budget.open('new', hasLength).grow(50)).toBeUndefined();
});

it('bodies of one address take its share of the room, and leave the rest to others', () => {
  const budget = createBodyBudget(options);
  const many = Array.from({ length: 9 }, () => budget.open('a', hasLength));
  // Three fit, and one may exceed the limit.
  expect(many.filter((one) => one.grow(20) === undefined)).toHaveLength(4);
  expect(budget.open('b', hasLength).grow(20)).toBeUndefined();
  for (const one of many.toReversed()) one.release();
  expect(budget.open('a', hasLength).grow(60)).toBeUndefined();
});

it('raises Busy if a body waits too long, too many wait, or it cannot wait; a small body never waits', async () => {
  const budget = createBodyBudget({ ...options, maxWaiting: 1, waitMs: 50 });
  const exempt = budget.open('a', hasLength);
  expect(exempt.grow(100)).toBeUndefined();
  const waiting = budget.open('a', hasLength).grow(50);
  expect(() => budget.open('a', hasLength).grow(50)).toThrow(Busy);
  expect(() => budget.open('a', hasNone).grow(50)).toThrow(Busy);
  await expect(waiting).rejects.toThrow(Busy);
  expect(budget.open('a', hasLength).grow(10)).toBeUndefined();
  exempt.release();
  expect(budget.open('a', hasNone).grow(60)).toBeUndefined();
});

it('a body that ends while it waits frees its place', () => {
  const budget = createBodyBudget({ ...options, maxWaiting: 1 });
  const exempt = budget.open('a', hasLength);
  void exempt.grow(100);
  const first = budget.open('a', hasLength);
  void first.grow(50);
  first.release();
  const second = budget.open('a', hasLength);
  expect(second.grow(50)).toBeDefined();
  second.release();
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

it('a body is complete if it ends while its last chunk waits for memory', async () => {
  const req = Object.assign(new EventEmitter(), {
    headers: {},
    complete: true,
    pause: () => {},
    resume: () => {},
  });
  let start!: () => void;
  const room = new Promise<void>((resolve) => {
    start = resolve;
  });
  const grow = () => room;
  const large = { grow, isCharged: () => false, leastBytesPerS: 0 };
  const read = readBody(req as unknown as IncomingMessage, 500, large);
  req.emit('data', Buffer.from('whole'));
  req.emit('end');
  start();
  expect(String(await read)).toBe('whole');
});

describe('of a receiver', () => {
  const sockets: Socket[] = [];
  // Before the service stops, which waits for them.
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });
  const { start: startService } = useService();
  let service: Awaited<ReturnType<typeof startTestService>>;
  const { limits } = testConfig({});

  /** By default there is room for one large body, and for half a minute nobody is too slow. */
  const start = async (waitMs: number, changed: Partial<typeof limits.bodies> = {}) => {
    const few = {
      bytes: 10_000,
      bytesPerAddress: 10_000,
      leastBytesPerS: 0,
      smallBytes: 5_000,
      maxWaiting: 10,
    };
    const bodies = { ...few, waitMs, ...changed };
    service = await startService({ role: 'receiver', limits: { ...limits, bodies } });
  };
  let number = 0;
  /** A sender of a body of about this many bytes, which sends all of it but the last. */
  const send = async (bytes: number, localAddress = '127.0.0.1') => {
    number += 1;
    const body = JSON.stringify(
      receiptCallback({ data: { receipt_id: number, remarks: 'x'.repeat(bytes) } }),
    );
    const port = Number(new URL(service.url).port);
    const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {});
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
      socket,
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

  it('a body that was received whole before it waits is complete', async () => {
    await start(20_000);
    const first = await send(90_000);
    const body = JSON.stringify(
      receiptCallback({ data: { receipt_id: 2_000, remarks: 'x'.repeat(20_000) } }),
    );
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1').on('error', () => {});
    sockets.push(socket);
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    const head = `POST ${paths.receipt} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;
    socket.write(`${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    // Another connection that is responded to in the meantime shows that this one was read.
    const small = await send(0);
    small.finish();
    await until(() => small.responseStatus() === '200');
    expect(text).toBe('');
    first.finish();
    await until(() => text.includes('HTTP/1.1'));
    expect(text).toContain('HTTP/1.1 200');
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

  it('a body takes no room before it has come, whatever length it claims', async () => {
    await start(100, limits.bodies);
    const { port } = new URL(service.url);
    for (let time = 0; time < 40; time += 1) {
      const socket = connect(Number(port), '127.0.0.1').on('error', () => {});
      sockets.push(socket);
      socket.write(`POST ${paths.receipt} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`);
      socket.write(`Content-Length: ${256 * 1024}\r\n\r\n`);
    }
    const other = await send(90_000);
    other.finish();
    await until(() => other.responseStatus() !== undefined);
    expect(other.responseStatus()).toBe('200');
  });

  it('large bodies of one address do not delay those of another', async () => {
    await start(100, { bytes: 400_000, bytesPerAddress: 100_000 });
    const many = await Promise.all(Array.from({ length: 6 }, () => send(90_000, '127.0.0.2')));
    await until(() => many.filter((one) => one.responseStatus() === '503').length >= 4);
    const other = await send(90_000);
    other.finish();
    await until(() => other.responseStatus() !== undefined);
    expect(other.responseStatus()).toBe('200');
  });

  it('a large body that stops arriving gets 408, and one that waits takes its place', async () => {
    await start(20_000, { leastBytesPerS: limits.bodies.leastBytesPerS });
    const stalled = await send(90_000);
    const next = await send(90_000);
    next.finish();
    await until(() => stalled.responseStatus() !== undefined && next.responseStatus() !== undefined);
    expect([stalled.responseStatus(), next.responseStatus()]).toEqual(['408', '200']);
    expect(stalled.text()).toContain('Connection: close');
    await until(() => stalled.socket.closed);
  });
});
