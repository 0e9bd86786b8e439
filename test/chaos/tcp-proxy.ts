import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  port: number;
  /** Ends every connection with a reset; new ones are let through. */
  reset: () => void;
  /** Delays every piece of data, in both directions, by so many milliseconds. */
  slow: (milliseconds: number) => void;
  stop: () => Promise<void>;
}

/**
 * A link to a server on this machine that can be broken.
 *
 * @param at the port to listen at; any unless told
 */
export async function startTcpProxy(port: number, at = 0): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
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
    const far = connect(port, '127.0.0.1');
    link(near, far);
    link(far, near);
  }).listen(at, '127.0.0.1');
  await once(server, 'listening');
  const reset = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    reset,
    slow: (milliseconds) => {
      delayMs = milliseconds;
    },
    stop: async () => {
      server.close();
      reset();
      await once(server, 'close');
    },
  };
}
