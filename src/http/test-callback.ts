import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Config } from '../config/config.ts';
import { digestOf } from './access/signature.ts';

type TestConfig = Pick<Config, 'authentication' | 'paths'>;

const timeoutMs = 10_000;

/**
 * The body of a test callback. Its event is one that no family lists, so that no report of receipts or forms has it; its
 * client and business are allowed ones.
 */
export function testCallback({ authentication }: Pick<TestConfig, 'authentication'>): string {
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
  const target = url.startsWith('unix:')
    ? { socketPath: url.slice('unix:'.length) }
    : { host: hostname.replace(/^\[|\]$/g, ''), port };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const signal = AbortSignal.timeout(timeoutMs);
    request({ ...target, path, method: 'POST', headers, signal }, resolve)
      .once('error', reject)
      .end(body);
  });
  const { id, detail } = JSON.parse(await text(response)) as { id?: string; detail?: string };
  return { status: response.statusCode!, id, detail };
}
