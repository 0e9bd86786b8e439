import { history } from '../../src/sandbox/history.ts';
import { signatureOf } from '../../src/sandbox/signature.ts';

interface RequestOptions {
  host: string;
  path: string;
  seed: number;
  count: number;
  signingKey: string | undefined;
}

/**
 * Requests with distinct receipts, as bytes. They are generated and signed before the load, so that the load only
 * sends them.
 */
export function makeRequests({ host, path, seed, count, signingKey }: RequestOptions): Buffer[] {
  const requests: Buffer[] = [];
  for (const { family, body } of history({ seed })) {
    if (family !== 'receipt') continue;
    const signature = signingKey ? `X-Webhook-Signature: ${signatureOf(signingKey, body)}\r\n` : '';
    const head =
      `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: keep-alive\r\n${signature}` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
    requests.push(Buffer.from(head + body));
    if (requests.length === count) break;
  }
  return requests;
}
