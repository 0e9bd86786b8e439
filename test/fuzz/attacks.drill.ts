import { request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { paths } from '../support/callbacks.ts';
import { killProcesses, spawnService, type TestProcess } from '../support/process.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { sign } from '../support/sign.ts';
import { until } from '../support/until.ts';

const minutes = Math.max(1, Number(process.env.DRILL_MINUTES));
const heapMb = 384;
const [key, admin, reader] = ['signing-key-of-tests', 'admin-token-of-tests', 'changes-token-of-tests'];
const database = useReceiverDatabase();
jest.setTimeout(600_000 + minutes * 60_000);
afterAll(killProcesses);

const bomb = gzipSync(Buffer.alloc(200_000_000, 'a=&'));
const filler = Buffer.alloc(254_000, ' ');
const now = () => Math.floor(Date.now() / 1000);
const large = (n: number) => `${n} ${'x'.repeat(235_000)}`;
let count = 0;
const receipt = (data: object, business = 'clinic', event = 'receipt.updated') =>
  JSON.stringify({ event, event_time: now(), client_id: 'c', business_id: business, data });

/** Everything that weighs, at once, against one process with a small heap. */
function attacksOn({ url }: TestProcess, cookie: string): Record<string, () => Promise<unknown>> {
  const get = async (path: string, headers: Record<string, string> = { cookie }) => {
    const response = await fetch(url + path, { headers, signal: AbortSignal.timeout(120_000) });
    for await (const _ of response.body ?? []) await pause(1);
    return response.status;
  };
  const callback = (body: string) => send(url, body);
  return {
    'keys of 235 kB': () => callback(receipt({ receipt_id: count++, [large(count)]: 1 })),
    'records of 235 kB': () => callback(receipt({ receipt_id: count++ % 500, description: large(count) })),
    'records of 10 MB': async () => {
      const n = count++;
      const status = await callback(receipt({ receipt_id: n % 3, [`k${n % 45}`]: large(n) }, 'large'));
      await pause(150);
      return status;
    },
    'pages of the feed': () => get('/changes?limit=500', { authorization: `Bearer ${reader}` }),
    'many businesses': () =>
      Promise.all(
        Array.from({ length: 20 }, () => callback(receipt({ receipt_id: 1 }, `b${count++ % 20_000}`))),
      ),
    search: () => get(`/console/search?q=${count++}`),
    files: () => get(`/console/receipts/${count++ % 2 ? 'xlsx' : 'csv'}`),
    'the access log': () => get('/console/access-log'),
    'compressed forms': () => {
      const headers = { 'Content-Encoding': 'gzip' };
      const sent = Array.from({ length: 20 }, () =>
        form(url, '/console/rejected/x/again', '', bomb, headers),
      );
      return Promise.all(sent);
    },
    'unsigned bodies that do not end': () => Promise.all(Array.from({ length: 1_000 }, () => hang(url))),
  };
}

/** @returns the status; 0: no answer */
async function send(url: string, body: string): Promise<number> {
  const headers = { 'Content-Type': 'application/json', 'X-Webhook-Signature': sign(key!, body) };
  const signal = AbortSignal.timeout(60_000);
  return fetch(url + paths.receipt, { method: 'POST', headers, body, signal }).then(
    async (response) => {
      await response.arrayBuffer();
      return response.status;
    },
    () => 0,
  );
}

function form(url: string, path: string, cookie: string, body: string | Buffer, more = {}): Promise<number> {
  return new Promise((resolve) => {
    const origin = url.replace('0.0.0.0', '127.0.0.1');
    const type = 'application/x-www-form-urlencoded';
    const headers = { Origin: origin, Cookie: cookie, 'Content-Type': type, ...more };
    const sent = request(url + path, { method: 'POST', headers, agent: false }, (response) => {
      response.resume().on('close', () => resolve(response.statusCode!));
    });
    sent.on('error', () => resolve(0)).end(body);
  });
}

/** Sends nearly all of a body whose signature is wrong, and waits until the server ends it. */
function hang(url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const head = `POST ${paths.receipt} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 255000\r\nX-Webhook-Signature: t=${now()},v1=${'0'.repeat(64)}\r\n\r\n`;
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(head);
      socket.write(filler);
    });
    socket
      .on('error', () => {})
      .on('close', () => resolve())
      .resume();
  });
}

it(`a heap of ${heapMb} MB outlives all attacks at once, and no callback beside them is lost`, async () => {
  const service = await spawnService({
    DATABASE_URL: database.url,
    SIGNING_KEYS: key!,
    ADMIN_TOKEN: admin!,
    CHANGES_TOKENS: reader!,
    NODE_OPTIONS: `--max-old-space-size=${heapMb}`,
  });
  const { url, child } = service;
  const signedIn = await fetch(`${url}/console/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { Origin: url, 'Content-Type': 'application/x-www-form-urlencoded' },
    body: `token=${admin}`,
  });
  const cookie = signedIn.headers.get('set-cookie')!.split(';')[0]!;
  const isAlive = () => child.exitCode === null && child.signalCode === null;
  const end = Date.now() + minutes * 60_000;
  const attack = async (once: () => Promise<unknown>) => {
    while (Date.now() < end && isAlive()) {
      await once().catch(() => {});
      await pause(100);
    }
  };
  let acknowledged = 0;
  const refused: number[] = [];
  const beside = async () => {
    for (; Date.now() < end && isAlive(); acknowledged += 1) {
      const body = receipt({ receipt_id: acknowledged }, 'beside', 'receipt.created');
      for (let status = 0; status !== 200 && isAlive(); await pause(100)) {
        status = await send(url, body);
        if (status !== 200) refused.push(status);
      }
    }
  };
  await Promise.all([beside(), ...Object.values(attacksOn(service, cookie)).map(attack)]);
  expect([child.exitCode, child.signalCode]).toEqual([null, null]);
  // What was busy says so at once; nobody waits for an answer that does not come.
  expect(refused).not.toContain(0);
  const isStored = async () =>
    (await database.count(`receipts where business_id = 'beside'`)) === acknowledged;
  await until(isStored, 300_000, 500);
  expect(await service.end('SIGTERM')).toBe(0);
});
