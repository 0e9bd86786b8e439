import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

const logReady = (url?: string) => process.stdout.write(`${JSON.stringify({ msg: 'ready', url })}\n`);

/** Listens on a free port of 127.0.0.1 and logs the address. */
export function listen(server: Server): void {
  server.listen(0, '127.0.0.1', () => logReady(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  endOnSignal(async () => {
    server.close();
  });
}

/** Logs that a worker takes jobs. */
export function logWorking(stop: () => Promise<void>): void {
  logReady();
  endOnSignal(stop);
}

function endOnSignal(stop: () => Promise<void>): void {
  process.once('SIGTERM', () => void stop().finally(() => process.exit(0)));
}
