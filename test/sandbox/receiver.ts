import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { registeredUrls } from '../../src/sandbox/sender.ts';

export interface Got {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A receiver whose responses the test defines; it records the requests. */
export async function startReceiver(respond: (got: Got, response: ServerResponse, count: number) => void) {
  const got: Got[] = [];
  let open = 0;
  let mostOpen = 0;
  const server = createServer(async (request, response) => {
    mostOpen = Math.max(mostOpen, ++open);
    response.on('close', () => open--);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const one = { path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks) };
    got.push(one);
    respond(one, response, got.length);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    urlOf: registeredUrls(url),
    got,
    mostOpen: () => mostOpen,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** Responds as the project's receiver does. */
export function accept(_: Got, response: ServerResponse, count: number): void {
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify({ status: 'accepted', id: `id-${count}` }));
}
