import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

const say = (url?: string) => process.stdout.write(`${JSON.stringify({ msg: 'ready', url })}\n`);

/** Listens on a free port of 127.0.0.1 and says where. */
export function listening(server: Server): void {
  server.listen(0, '127.0.0.1', () => say(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  endOnSignal(async () => {
    server.close();
  });
}

/** Says that a worker takes jobs. */
export function working(stop: () => Promise<void>): void {
  say();
  endOnSignal(stop);
}

function endOnSignal(stop: () => Promise<void>): void {
  process.once('SIGTERM', () => void stop().finally(() => process.exit(0)));
}
