import { createHmac } from 'node:crypto';
import { documentedPath } from '../../src/callbacks/families/family.ts';
import { callbacks, families } from '../../src/sandbox/history.ts';
import { nextTurn, registeredUrls, sendCallbacks } from '../../src/sandbox/sender.ts';
import { accept, startReceiver } from './receiver.ts';

let receiver: Awaited<ReturnType<typeof startReceiver>>;
afterEach(() => receiver?.close());

it('sends each callback once, as JSON, to the path of its family, unsigned without a key', async () => {
  receiver = await startReceiver(accept);
  const sequence = callbacks({ seed: 1, count: 120 });
  const summary = await sendCallbacks(sequence, { urlOf: receiver.urlOf, connections: 4 });
  const sent = sequence.map((c) => `${documentedPath(c.family, c.event)} ${c.body}`);
  expect(receiver.requests.map((g) => `${g.path} ${g.body}`).sort()).toEqual(sent.sort());
  for (const { headers } of receiver.requests) {
    expect(headers['content-type']).toBe('application/json');
    expect(headers).not.toHaveProperty('x-webhook-signature');
  }
  expect(summary).toMatchObject({
    callbacks: 120,
    acknowledged: 120,
    unacknowledged: 0,
    resends: 0,
    outcomes: { '200 accepted': 120 },
  });
  expect(receiver.maxOpen()).toBeLessThanOrEqual(4);
});

it('keeps the order on one connection, and signs the bytes it sends', async () => {
  receiver = await startReceiver(accept);
  const sequence = callbacks({ seed: 2, count: 20 });
  const signed = { signingKey: 'key', signatureHeader: 'X-Our-Signature' };
  await sendCallbacks(sequence, { urlOf: receiver.urlOf, connections: 1, ...signed });
  expect(receiver.requests.map((g) => g.body.toString())).toEqual(sequence.map((c) => c.body));
  for (const { headers, body } of receiver.requests) {
    const [, seconds, digest] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-our-signature']))!;
    expect(Math.abs(Number(seconds) - Date.now() / 1000)).toBeLessThan(60);
    expect(digest).toBe(createHmac('sha256', 'key').update(`${seconds}.${body}`).digest('hex'));
  }
});

it('resends after failures, waiting for Retry-After, until the callback is acknowledged', async () => {
  const arrivals: number[] = [];
  receiver = await startReceiver((request, response, count) => {
    arrivals.push(performance.now());
    if (count === 1) return void response.writeHead(503, { 'Retry-After': '1' }).end();
    if (count === 2) return void response.destroy();
    accept(request, response, count);
  });
  const options = { urlOf: receiver.urlOf, resendOnFailure: true };
  expect(await sendCallbacks(callbacks({ seed: 4, count: 1 }), options)).toMatchObject({
    callbacks: 1,
    acknowledged: 1,
    unacknowledged: 0,
    resends: 2,
    outcomes: { '503': 1, UND_ERR_SOCKET: 1, '200 accepted': 1 },
  });
  // A timer may be early.
  expect(arrivals[1]! - arrivals[0]!).toBeGreaterThan(900);
});

it('resends nothing by default, and never after a 422', async () => {
  receiver = await startReceiver((_, response) => void response.writeHead(422).end());
  const options = { urlOf: receiver.urlOf };
  for (const resendOnFailure of [false, true])
    expect(
      await sendCallbacks(callbacks({ seed: 5, count: 10 }), { ...options, resendOnFailure }),
    ).toMatchObject({
      resends: 0,
      unacknowledged: 10,
      outcomes: { '422': 10 },
    });
});

it('ends when the signal aborts, also while it waits', async () => {
  const controller = new AbortController();
  receiver = await startReceiver((request, response, count) => {
    if (count < 50) return accept(request, response, count);
    response.writeHead(503, { 'Retry-After': '3600' }).end(() => controller.abort());
  });
  const summary = await sendCallbacks(callbacks({ seed: 8 }), {
    urlOf: receiver.urlOf,
    connections: 5,
    resendOnFailure: true,
    signal: controller.signal,
  });
  expect(summary.acknowledged).toBe(49);
});

it('sends at even intervals, and catches up at most one second of them', () => {
  expect(nextTurn(1_000, 1_000, 50)).toBe(1_020);
  expect(nextTurn(1_000, 1_900, 50)).toBe(1_020);
  expect(nextTurn(1_000, 90_000, 50)).toBe(89_000);
});

const familyOf = (event: string) => families.find(({ events }) => Object.hasOwn(events, event))!;
const registered = (event: string, env = {}) =>
  registeredUrls('http://receiver.example/', env)({ event, family: familyOf(event) });

it('sends the events of a family to the path of its variable', () => {
  const env = { RECEIPTS_PATH: '', REVIEW_REQUESTS_PATH: '/ours' };
  expect(registered('google_review.request', env)).toBe('http://receiver.example/ours');
  expect(registered('receipt.created', env)).toBe(
    'http://receiver.example/registered_url_for_receipt_events',
  );
});
