import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A free port of 127.0.0.1 for a server that may be restarted. Below the ports that systems give to outgoing
 * connections: one of those could take the place while the server is away, even a connection to itself.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    if (await isFree(port)) return port;
  }
}

/** Whether a server could listen at a port of 127.0.0.1. */
export async function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  try {
    await once(probe.listen(port, '127.0.0.1'), 'listening');
  } catch {
    return false; // taken, or not ours to take
  }
  probe.close();
  await once(probe, 'close');
  return true;
}
