import { history } from '../../src/sandbox/history.ts';
import { signatureOf } from '../../src/sandbox/post.ts';

interface RequestOptions {
  host: string;
  path: string;
  signingKey: string | undefined;
}

/** Requests with distinct receipts, without end. They are signed when they are taken. */
export function* receiptRequests({
  seed,
  start,
  ...options
}: RequestOptions & { seed: number; start?: number }): Generator<Buffer, never> {
  for (const { family, body } of history({ seed, ...(start && { start }) })) {
    if (family === 'receipt') yield requestOf(body, options);
  }
  throw new Error('The history has no end.');
}

/** A callback as the bytes of its request. */
export function requestOf(body: string, { host, path, signingKey }: RequestOptions): Buffer {
  const signature = signingKey ? `X-Webhook-Signature: ${signatureOf(signingKey, body)}\r\n` : '';
  const head =
    `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: keep-alive\r\n${signature}` +
    `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
  return Buffer.from(head + body);
}

/** The next requests. They are taken before a load, so that the load only sends them. */
export function take(source: Generator<Buffer, never>, count: number): Buffer[] {
  return Array.from({ length: count }, () => source.next().value);
}
