import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { readTrusted } from '../../common/trusted-files.ts';

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

/** The port in a file if it is free, so that saved connections stay valid, or another free one. */
export async function previousOrFreePort(file: string): Promise<number> {
  const previous = Number(readTrusted(file) ?? 0);
  // A power cut may have cut the number.
  return previous >= 1024 && previous < 65_536 && (await isFree(previous)) ? previous : freePort();
}

/** Whether a server could listen on a port of 127.0.0.1. */
async function isFree(port: number): Promise<boolean> {
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
