import { once } from 'node:events';
import { createServer as createPlainServer } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { addressRules } from '../../src/destinations/address-rules.ts';
import { openAgent } from '../../src/destinations/open-agent.ts';
import { parseUrl } from '../../src/destinations/parse-url.ts';
import { post } from '../../src/destinations/post.ts';
import { newSecret, secretText } from '../../src/destinations/sign.ts';
import { selfSigned } from '../support/self-signed.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const message = { id: 'msg_1', type: 'test', body: '{"type":"test","data":{}}' };

async function send(url: string, allow: string[], timeoutMs = 2_000) {
  const dispatcher = openAgent(addressRules(allow), 1_000);
  const outcome = await post(url, message, [newSecret()], { dispatcher, timeoutMs });
  await dispatcher.destroy();
  return outcome;
}

const isRefused = (address: string, allow: string[] = []) => {
  try {
    addressRules(allow).require(address);
    return false;
  } catch {
    return true;
  }
};

it.each([
  ...[
    '127.0.0.1',
    '127.255.0.1',
    '10.1.2.3',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '169.254.169.254',
  ],
  ...['100.64.0.1', '0.0.0.0', '0.1.2.3', '224.0.0.1', '255.255.255.255', '198.18.0.1', '192.0.2.1'],
  ...['::', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1', '::127.0.0.1', '64:ff9b::7f00:1'],
  ...[
    'fe80::1',
    'fe80::1%eth0',
    'fc00::1',
    'fd12:3456::1',
    'ff02::1',
    '2002:7f00:1::',
    '2001:0:7f00::1',
    '2001:db8::1',
  ],
  ...['', 'localhost', '127.1', '0x7f000001'],
])('refuses %s', (address) => {
  expect(isRefused(address)).toBe(true);
});

it('allows public addresses, and exceptions in each spelling', () => {
  expect(['8.8.8.8', '::ffff:8.8.8.8', '2606:4700::1111', '172.32.0.1'].map((one) => isRefused(one))).toEqual(
    Array(4).fill(false),
  );
  const allow = ['10.0.0.0/8', '::1'];
  expect(['10.9.9.9', '::ffff:10.9.9.9', '::1', '127.0.0.1'].map((one) => isRefused(one, allow))).toEqual([
    ...[false, false, false, true],
  ]);
});

it('no address of IPv4 is allowed that the same address, mapped into IPv6, is not', () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      expect(isRefused(`::ffff:${address}`)).toBe(isRefused(address));
    }),
  );
});

it.each([
  'http://127.0.0.1:9',
  'https://[::1]:9/',
  'http://localhost:9/',
  'https://[::ffff:127.0.0.1]/',
  'http://2130706433/',
])('does not connect to %s', async (url) => {
  expect(await send(url, [])).toMatchObject({ outcome: 'REFUSED_ADDRESS' });
});

it('checks the address that it is connected to, also where the name and the list have another', async () => {
  const webhooks = await startWebhookReceiver();
  const url = webhooks.url.replace('127.0.0.1', 'localhost');
  expect(await send(url, ['127.0.0.2', '::1'])).toMatchObject({
    outcome: expect.stringMatching(/REFUSED|ECONN/),
  });
  expect(webhooks.requests).toBe(0);
  await webhooks.stop();
});

it('follows no redirect, and reads only the beginning of an answer', async () => {
  const webhooks = await startWebhookReceiver();
  const dispatcher = openAgent(addressRules(['127.0.0.1']), 1_000);
  const secret = newSecret();
  webhooks.secret = secretText(secret);
  const options = { dispatcher, timeoutMs: 2_000 };
  const body = '{"type":"t","data":{"family":"a"}}';
  webhooks.answer = (_webhook, res) => res.writeHead(302, { Location: `${webhooks.url}/other` }).end();
  expect(await post(webhooks.url, { ...message, body }, [secret], options)).toMatchObject({ status: 302 });
  expect(webhooks.requests).toBe(1);
  webhooks.answer = (_webhook, res) => {
    res.writeHead(200);
    const timer = setInterval(() => res.write('x'.repeat(1_000)), 1);
    res.once('close', () => clearInterval(timer));
  };
  const { status, answer } = await post(webhooks.url, { ...message, body }, [secret, newSecret()], options);
  expect([status, answer.length]).toEqual([200, 2_048]);
  webhooks.answer = () => {};
  const late = await post(webhooks.url, { ...message, body }, [newSecret(), secret], {
    dispatcher,
    timeoutMs: 50,
  });
  expect(late.outcome).toBe('TIMEOUT');
  expect(webhooks.faults.filter((fault) => fault.startsWith('signature'))).toEqual([]);
  await dispatcher.destroy();
  await webhooks.stop();
});

it('waits until a date of Retry-After by the clock of whoever answers', async () => {
  const at = (second: number) => new Date(Date.UTC(2020, 0, 1, 0, 0, second)).toUTCString();
  const headers = { Date: at(0), 'Retry-After': at(30) };
  const server = createPlainServer((_req, res) => res.writeHead(503, headers).end());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  expect(await send(`http://127.0.0.1:${port}`, ['127.0.0.1'])).toMatchObject({ retryAfterMs: 30_000 });
  server.close();
});

it('sends nothing to a certificate that nobody has signed, and without TLS only to exceptions', async () => {
  const server = createServer(selfSigned, (_req, res) => res.end());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  expect(await send(url, ['127.0.0.1'])).toMatchObject({ outcome: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
  server.close();
  expect(await send('http://8.8.8.8/', [])).toMatchObject({ outcome: 'NOT_ENCRYPTED' });
});

it.each([
  'ftp://example.org',
  'example.org',
  'https://user:x@example.org',
  'https://10.0.0.1/',
  'http://localhost/',
])('takes no destination %s', (url) => {
  expect(() => parseUrl(url, addressRules([]))).toThrow();
});
