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
    if (!(await findBindError(port))) return port;
  }
}

/** Why no server can listen on a port now; undefined: one can. */
export async function findBindError(port: number, host = '127.0.0.1'): Promise<Error | undefined> {
  const probe = createServer((socket) => socket.destroy());
  try {
    await once(probe.listen(port, host), 'listening');
  } catch (error) {
    return error as Error;
  }
  probe.close();
  await once(probe, 'close');
  return undefined;
}
