import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { closeLater } from './close-later.ts';

/** Starts a server. `stop` ends it with its connections. */
export async function startServer(handle: RequestListener) {
  const server = createServer(handle).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = async () => {
    server.close().closeAllConnections();
    await once(server, 'close');
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop };
}

/** Starts a server for the rest of the test. @returns its address */
export async function listen(handle: RequestListener): Promise<string> {
  const { url, stop } = await startServer(handle);
  closeLater(stop);
  return url;
}
