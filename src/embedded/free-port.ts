import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A free port of 127.0.0.1 for a server that may be restarted. It is below the ephemeral ports, which an outgoing
 * connection could occupy while the server is down.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    if (await isFree(port)) return port;
  }
}

/** Whether a server could listen on a port of 127.0.0.1. */
export async function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  try {
    await once(probe.listen(port, '127.0.0.1'), 'listening');
  } catch {
    return false; // in use, or not permitted
  }
  probe.close();
  await once(probe, 'close');
  return true;
}
