import { createHmac } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { documentedEvent } from '../../src/sandbox/families.ts';
import type { Attempt } from '../../src/sandbox/post.ts';
import { openLedger } from '../../src/sandbox/send.ts';
import { nextTurn, sendCallbacks } from '../../src/sandbox/sender.ts';
import { callbacks } from '../../src/sandbox/variations.ts';
import { accept, startReceiver } from './receiver.ts';

let receiver: Awaited<ReturnType<typeof startReceiver>>;
afterEach(() => receiver.close());

it('sends each callback once, as JSON, to the path of its family', async () => {
  receiver = await startReceiver(accept);
  const sequence = [...callbacks({ seed: 1, count: 120 })];
  const summary = await sendCallbacks(sequence, { urlOf: receiver.urlOf, connections: 4 });

  const sent = sequence.map((c) => `${documentedEvent(c.event).path} ${c.body}`);
  expect(receiver.got.map((g) => `${g.path} ${g.body}`).sort()).toEqual(sent.sort());
  for (const { headers } of receiver.got) {
    expect(headers['content-type']).toBe('application/json');
    expect(headers).not.toHaveProperty('authorization');
    expect(headers).not.toHaveProperty('x-webhook-signature');
  }
  expect(summary).toMatchObject({
    callbacks: 120,
    acknowledged: 120,
    unacknowledged: 0,
    resends: 0,
    outcomes: { '200 accepted': 120 },
  });
  const { p50, p95, p99, max } = summary.latencyMs;
  expect([p50, p95, p99, max]).toEqual([p50, p95, p99, max].sort((a, b) => a - b));
  expect(p50).toBeGreaterThan(0);
});

it('keeps the order on one connection', async () => {
  receiver = await startReceiver(accept);
  const sequence = [...callbacks({ seed: 2, count: 40 })];
  await sendCallbacks(sequence, { urlOf: receiver.urlOf, connections: 1 });
  expect(receiver.got.map((g) => g.body.toString())).toEqual(sequence.map((c) => c.body));
  expect(receiver.mostOpen()).toBe(1);
});

it('has no more callbacks in flight than connections', async () => {
  receiver = await startReceiver(
    (got, response, count) => void setImmediate(() => accept(got, response, count)),
  );
  await sendCallbacks(callbacks({ seed: 2, count: 100 }), { urlOf: receiver.urlOf, connections: 3 });
  expect(receiver.mostOpen()).toBeLessThanOrEqual(3);
});

it('signs the bytes it sends, with the current second', async () => {
  receiver = await startReceiver(accept);
  const options = { urlOf: receiver.urlOf, signingKey: 'key', signatureHeader: 'X-Our-Signature' };
  await sendCallbacks(callbacks({ seed: 3, count: 5 }), options);
  expect(receiver.got).toHaveLength(5);
  for (const { headers, body } of receiver.got) {
    const [, seconds, digest] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-our-signature']))!;
    expect(Math.abs(Number(seconds) - Date.now() / 1000)).toBeLessThan(60);
    expect(digest).toBe(createHmac('sha256', 'key').update(`${seconds}.${body}`).digest('hex'));
  }
});

it('resends after failures, waiting for Retry-After, until the callback is acknowledged', async () => {
  receiver = await startReceiver((got, response, count) => {
    if (count === 1) return void response.writeHead(503, { 'Retry-After': '1' }).end();
    if (count === 2) return void response.destroy();
    accept(got, response, count);
  });
  const attempts: Attempt[] = [];
  const summary = await sendCallbacks(callbacks({ seed: 4, count: 1 }), {
    urlOf: receiver.urlOf,
    resendOnFailure: true,
    onAttempt: (attempt) => void attempts.push(attempt),
  });
  expect(attempts.map((a) => [a.attempt, a.outcome])).toEqual([
    [1, '503'],
    [2, 'UND_ERR_SOCKET'],
    [3, '200'],
  ]);
  expect(attempts[0]?.retryAfterMs).toBe(1000);
  expect(new Set(receiver.got.map((g) => g.body.toString())).size).toBe(1);
  expect(summary).toMatchObject({ callbacks: 1, acknowledged: 1, unacknowledged: 0, resends: 2 });
});

it('resends nothing by default, and never after a 422', async () => {
  receiver = await startReceiver((got, response) => {
    response.writeHead(got.path === '/registered_url_for_receipt_events' ? 503 : 422).end();
  });
  const options = { urlOf: receiver.urlOf, maxAttempts: 2 };
  const count = 30;
  const receipts = [...callbacks({ seed: 5, count })].filter((c) => c.family === 'receipt').length;

  const once = await sendCallbacks(callbacks({ seed: 5, count }), options);
  expect(once).toMatchObject({ resends: 0, unacknowledged: count });
  const again = await sendCallbacks(callbacks({ seed: 5, count }), { ...options, resendOnFailure: true });
  expect(again).toMatchObject({
    resends: receipts,
    outcomes: { '503': 2 * receipts, '422': count - receipts },
  });
});

it('counts an unreachable receiver by its error code', async () => {
  receiver = await startReceiver(accept);
  await receiver.close();
  const summary = await sendCallbacks(callbacks({ seed: 6, count: 3 }), { urlOf: receiver.urlOf });
  expect(summary).toMatchObject({ acknowledged: 0, unacknowledged: 3, outcomes: { ECONNREFUSED: 3 } });
  receiver = await startReceiver(accept);
});

it('does not count rejected invalid callbacks as unacknowledged', async () => {
  receiver = await startReceiver((_, response) => void response.writeHead(422).end());
  const summary = await sendCallbacks(callbacks({ seed: 7, count: 10, invalid: 1 }), {
    urlOf: receiver.urlOf,
  });
  expect(summary).toMatchObject({
    callbacks: 10,
    acknowledged: 0,
    unacknowledged: 0,
    outcomes: { '422': 10 },
  });
});

it('ends an endless sequence when the signal aborts, after the pending responses', async () => {
  const controller = new AbortController();
  receiver = await startReceiver((got, response, count) => {
    if (count === 50) controller.abort();
    accept(got, response, count);
  });
  const { signal } = controller;
  const summary = await sendCallbacks(callbacks({ seed: 8 }), {
    urlOf: receiver.urlOf,
    connections: 5,
    signal,
  });
  expect(summary.acknowledged).toBe(receiver.got.length);
  expect(summary.acknowledged).toBeLessThan(60);
});

it('stops waiting as soon as the signal aborts', async () => {
  const controller = new AbortController();
  receiver = await startReceiver((_, response) => {
    response.writeHead(503, { 'Retry-After': '3600' }).end(() => controller.abort());
  });
  const summary = await sendCallbacks(callbacks({ seed: 8 }), {
    urlOf: receiver.urlOf,
    connections: 1,
    resendOnFailure: true,
    signal: controller.signal,
  });
  expect(summary).toMatchObject({ callbacks: 1, unacknowledged: 1 });
});

it('raises the error of the listener, and stops', async () => {
  receiver = await startReceiver(accept);
  const full = sendCallbacks(callbacks({ seed: 9 }), {
    urlOf: receiver.urlOf,
    onAttempt: () => {
      throw new Error('disk full');
    },
  });
  await expect(full).rejects.toThrow('disk full');
});

it('sends no faster than its rate', async () => {
  const controller = new AbortController();
  receiver = await startReceiver((got, response, count) => {
    accept(got, response, count);
    response.on('close', () => controller.abort());
  });
  const summary = await sendCallbacks(callbacks({ seed: 10, count: 20 }), {
    urlOf: receiver.urlOf,
    rate: 1 / 3600,
    signal: controller.signal,
  });
  expect(summary.callbacks).toBe(1);
});

it('sends at even intervals, and catches up at most one second of them', () => {
  expect(nextTurn(1_000, 1_000, 50)).toBe(1_020);
  expect(nextTurn(1_000, 1_900, 50)).toBe(1_020);
  expect(nextTurn(1_000, 90_000, 50)).toBe(89_000);
});

describe('the ledger', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ledger-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('has one line per acknowledged delivery, and none for another', async () => {
    receiver = await startReceiver((got, response, count) => {
      if (count % 3 === 0) return void response.writeHead(503).end();
      accept(got, response, count);
    });
    const file = join(folder, 'ledger');
    const ledger = await openLedger(file);
    const acknowledged: Attempt[] = [];
    const { acknowledged: count } = await sendCallbacks(callbacks({ seed: 11, count: 60 }), {
      urlOf: receiver.urlOf,
      onAttempt: (attempt) => {
        if (attempt.acknowledged) acknowledged.push(attempt);
        return ledger.record(attempt);
      },
    });
    await ledger.close();

    const lines = (await readFile(file, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(count).toBe(40);
    expect(lines).toEqual(
      acknowledged.map(({ id, callback }) => ({
        id,
        event: callback.event,
        business_id: callback.businessId,
        status: 'accepted',
      })),
    );
  });

  it('cannot be opened where there is no folder', async () => {
    receiver = await startReceiver(accept);
    await expect(openLedger(join(folder, 'nowhere', 'ledger'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
