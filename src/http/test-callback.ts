import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Config } from '../config/config.ts';
import { read } from '../store/read.ts';
import type { Db, DeliveryStatus } from '../store/tables.ts';
import { digestOf } from './access/signature.ts';

type TestConfig = Pick<Config, 'authentication' | 'paths'>;

const timeoutMs = 10_000;

/**
 * The body of a test callback. Its event is one that no family lists, so that no report of receipts or forms has it; its
 * client and business are allowed ones.
 */
function testCallback({ authentication }: Pick<TestConfig, 'authentication'>): string {
  const now = Date.now();
  const seconds = Math.floor(now / 1000);
  return JSON.stringify({
    event: 'receiver.test',
    event_time: seconds,
    timestamp: seconds,
    client_id: authentication.allowedClientIds[0] ?? 'test',
    business_id: authentication.allowedBusinessIds[0] ?? 'test',
    data: { sent_at: now },
  });
}

/**
 * Sends a test callback over HTTP, as the platform would, to a receiver's own address and the path for every event.
 *
 * @returns the response: `id` of the delivery, or `detail`, why it was rejected
 * @throws the error of the connection
 */
export async function sendTestCallback(config: TestConfig, path: string, url: string) {
  const { signingKeys, signatureHeader } = config.authentication;
  const body = testCallback(config);
  const [key] = signingKeys;
  const time = String(Math.floor(Date.now() / 1000));
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    ...(key && { [signatureHeader]: `t=${time},v1=${digestOf(key, time, body)}` }),
  };
  // The address that means every address cannot be connected to.
  const { hostname, port } = new URL(url.replace('//0.0.0.0', '//127.0.0.1').replace('//[::]', '//[::1]'));
  const target = { host: hostname.replace(/^\[|\]$/g, ''), port };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const signal = AbortSignal.timeout(timeoutMs);
    request({ ...target, path, method: 'POST', headers, signal }, resolve)
      .once('error', reject)
      .end(body);
  });
  const { id, detail } = JSON.parse(await text(response)) as { id?: string; detail?: string };
  return { status: response.statusCode!, id, detail };
}

const appliedWithinMs = 5_000;

const ownAddress =
  'The receiver sends it from its own address, to which ALLOWED_IPS applies as to the platform’s.';

/** Sends a test callback, waits a moment until it is applied, and tells what became of it; `id`: of the delivery. */
export async function tryTestCallback(db: Db, ...sending: Parameters<typeof sendTestCallback>) {
  try {
    const { status, detail, id } = await sendTestCallback(...sending);
    if (id) return { id, told: `It was accepted${await fateOf(db, id)}: delivery` };
    return { told: `It was rejected with status ${status}: ${detail} ${status === 403 ? ownAddress : ''}` };
  } catch (error) {
    return { told: `It was not sent: ${(error as Error).message}` };
  }
}

async function fateOf(db: Db, id: string): Promise<string> {
  const deadline = performance.now() + appliedWithinMs;
  const query = sql<{ status: DeliveryStatus; seconds: number }>`
    select status, coalesce(extract(epoch from applied_at - received_at), 0)::float8 as seconds
    from deliveries where id = ${id}::uuid`;
  for (;;) {
    const [delivery] = await read(db, query);
    if (!delivery) return ', and not stored';
    if (delivery.status === 'applied') return ` and applied after ${delivery.seconds.toFixed(2)} s`;
    if (delivery.status === 'failed') return ', and PostgreSQL rejected its data';
    if (performance.now() > deadline) return ', and not applied within 5 s: see whether a worker runs';
    await sleep(50);
  }
}

/** A test callback as a line for a shell; the signature needs a key in SIGNING_KEY. */
export function testCommand(config: TestConfig, url: string): string {
  const { signingKeys, signatureHeader } = config.authentication;
  const hmac = `$(printf %s "$t.$body" | openssl dgst -sha256 -hmac "$SIGNING_KEY" -r | cut -d' ' -f1)`;
  const [time, signature] =
    signingKeys.length > 0
      ? ['t=$(date +%s)\n', `  -H "${signatureHeader}: t=$t,v1=${hmac}" \\\n`]
      : ['', ''];
  return `body='${testCallback(config)}'\n${time}curl '${url}' -H 'Content-Type: application/json' \\\n${signature}  -d "$body"`;
}
