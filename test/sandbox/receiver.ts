import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { registeredUrls } from '../../src/sandbox/sender.ts';
import { startServer } from '../support/listen.ts';

export interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A receiver whose responses the test defines; it records the requests. */
export async function startReceiver(
  respond: (request: ReceivedRequest, response: ServerResponse, count: number) => void,
) {
  const requests: ReceivedRequest[] = [];
  const { url, stop } = await startServer(async (request, response) => {
    const received = { path: request.url ?? '', headers: request.headers, body: await buffer(request) };
    requests.push(received);
    respond(received, response, requests.length);
  });
  return {
    url,
    urlOf: registeredUrls(url),
    requests,
    close: stop,
  };
}

/** Responds as the project's receiver does. */
export function accept(_: ReceivedRequest, response: ServerResponse, count: number): void {
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify({ status: 'accepted', id: `id-${count}` }));
}
