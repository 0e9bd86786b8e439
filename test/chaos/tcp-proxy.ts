import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { freePort } from '../../src/store/embedded/free-port.ts';

export interface TcpProxy {
  port: number;
  /** Ends every connection with a reset; new ones are let through. */
  reset: () => void;
  /** Ends every connection with a reset, and refuses new ones until `mend`. */
  cut: () => void;
  mend: () => Promise<void>;
  /** Delays every piece of data, in both directions, by so many milliseconds. */
  slow: (milliseconds: number) => void;
  /** Leads new connections to another port. */
  lead: (port: number) => void;
  stop: () => Promise<void>;
}

/**
 * A link to a server on this machine that can be broken.
 *
 * @param at the port to listen at; any unless told
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
  const mend = async () => {
    if (!server.listening) await once(server.listen(ownPort, '127.0.0.1'), 'listening');
  };
  const reset = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  const cut = () => {
    server.close();
    reset();
  };
  await mend();
  return {
    port: ownPort,
    reset,
    cut,
    mend,
    slow: (milliseconds) => {
      delayMs = milliseconds;
    },
    lead: (other) => {
      target = other;
    },
    stop: async () => {
      if (!server.listening) return;
      cut();
      await once(server, 'close');
    },
  };
}
