import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { registeredUrls } from '../../src/sandbox/sender.ts';

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
  let open = 0;
  let maxOpen = 0;
  const server = createServer(async (request, response) => {
    maxOpen = Math.max(maxOpen, ++open);
    response.on('close', () => open--);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const received = { path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks) };
    requests.push(received);
    respond(received, response, requests.length);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    urlOf: registeredUrls(url),
    requests,
    maxOpen: () => maxOpen,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** Responds as the project's receiver does. */
export function accept(_: ReceivedRequest, response: ServerResponse, count: number): void {
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify({ status: 'accepted', id: `id-${count}` }));
}
