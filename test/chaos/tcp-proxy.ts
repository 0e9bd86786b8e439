import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { freePort } from '../../src/store/embedded/free-port.ts';

export interface TcpProxy {
  port: number;
  /** Ends every connection with a reset, and accepts new ones. */
  reset: () => void;
  /** Ends every connection with a reset, and refuses new ones until `restore`. */
  cut: () => void;
  restore: () => Promise<void>;
  /** Delays all data in both directions. */
  delay: (milliseconds: number) => void;
  /** Forwards new connections to another port. */
  redirect: (port: number) => void;
  stop: () => Promise<void>;
}

/**
 * A link to a local server that can be interrupted.
 *
 * @param at the port to listen on; default: any
 */
export async function startTcpProxy(port: number, at = 0): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const ownPort = at || (await freePort());
  let target = port;
  let delayMs = 0;
  const link = (from: Socket, to: Socket) => {
    sockets.add(from);
    from.on('data', (data) => {
      if (delayMs === 0) to.write(data);
      else setTimeout(() => to.writable && to.write(data), delayMs);
    });
    from.on('close', () => {
      sockets.delete(from);
      to.destroy();
    });
    from.on('error', () => {});
  };
  const server = createServer((near) => {
    const far = connect(target, '127.0.0.1');
    link(near, far);
    link(far, near);
  });
  const restore = async () => {
    if (!server.listening) await once(server.listen(ownPort, '127.0.0.1'), 'listening');
  };
  const reset = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  const cut = () => {
    server.close();
    reset();
  };
  await restore();
  return {
    port: ownPort,
    reset,
    cut,
    restore,
    delay: (milliseconds) => {
      delayMs = milliseconds;
    },
    redirect: (other) => {
      target = other;
    },
    stop: async () => {
      if (!server.listening) return;
      cut();
      await once(server, 'close');
    },
  };
}
