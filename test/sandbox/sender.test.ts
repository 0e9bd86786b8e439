import { createHmac } from 'node:crypto';
import { documentedPath } from '../../src/callbacks/families/family.ts';
import { callbacks, families } from '../../src/sandbox/history.ts';
import { registeredUrls, sendCallbacks } from '../../src/sandbox/sender.ts';
import { accept, startReceiver } from './receiver.ts';

let receiver: Awaited<ReturnType<typeof startReceiver>>;
afterEach(() => receiver?.close());

it('sends each callback once, as JSON, to the path of its family, unsigned without a key', async () => {
  receiver = await startReceiver(accept);
  const sequence = callbacks({ seed: 1, count: 120 });
  const summary = await sendCallbacks(sequence, { urlOf: receiver.urlOf });
  const sent = sequence.map((c) => `${documentedPath(c.family, c.event)} ${c.body}`);
  expect(receiver.requests.map((g) => `${g.path} ${g.body}`).sort()).toEqual(sent.sort());
  for (const { headers } of receiver.requests) {
    expect(headers['content-type']).toBe('application/json');
    expect(headers).not.toHaveProperty('x-webhook-signature');
  }
  expect(summary).toMatchObject({
    callbacks: 120,
    acknowledged: 120,
    outcomes: { '200 accepted': 120 },
  });
});

it('at a rate it keeps the order, and signs the bytes it sends', async () => {
  receiver = await startReceiver(accept);
  const sequence = callbacks({ seed: 2, count: 20 });
  const signed = { signingKey: 'key', signatureHeader: 'X-Our-Signature', rate: 1_000 };
  await sendCallbacks(sequence, { urlOf: receiver.urlOf, ...signed });
  expect(receiver.requests.map((g) => g.body.toString())).toEqual(sequence.map((c) => c.body));
  for (const { headers, body } of receiver.requests) {
    const [, seconds, digest] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-our-signature']))!;
    expect(Math.abs(Number(seconds) - Date.now() / 1000)).toBeLessThan(60);
    expect(digest).toBe(createHmac('sha256', 'key').update(`${seconds}.${body}`).digest('hex'));
  }
});

it('sends no callback again, whatever the response', async () => {
  receiver = await startReceiver((_, response, count) => {
    if (count > 5) return void response.destroy();
    response.writeHead(503, { 'Retry-After': '3600' }).end();
  });
  const { urlOf } = receiver;
  expect(await sendCallbacks(callbacks({ seed: 5, count: 10 }), { urlOf })).toMatchObject({
    callbacks: 10,
    acknowledged: 0,
    outcomes: { '503': 5, UND_ERR_SOCKET: 5 },
  });
});

it('sends no faster than a rate', async () => {
  receiver = await startReceiver(accept);
  const { urlOf } = receiver;
  const { seconds } = await sendCallbacks(callbacks({ seed: 8, count: 4 }), { urlOf, rate: 10 });
  // A timer may be early.
  expect(seconds).toBeGreaterThan(0.29);
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
