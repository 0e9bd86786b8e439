import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Express } from 'express';
import type { Handler } from './callback-handler.ts';

export interface HttpServer {
  /** The address that it listens on, such as http://127.0.0.1:8080. */
  url: string;
  /** Takes no more connections, answers what is in flight, and closes them all. */
  stop: () => Promise<void>;
}

/**
 * Serves the app. The registered paths are looked up before Express, whose router costs more than the rest
 * of a callback's way; anything else, and any other spelling of a path, is Express's.
 */
export async function listen(
  app: Express,
  callbacks: ReadonlyMap<string, Handler>,
  { host, port }: { host: string; port: number },
): Promise<HttpServer> {
  const server = createServer((req, res) => {
    const handle = callbacks.get(req.url ?? '');
    if (handle) void handle(req, res);
    else app(req, res);
  });
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return { url: `http://${name}:${address.port}`, stop: () => stop(server) };
}

async function stop(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  await closed;
}
