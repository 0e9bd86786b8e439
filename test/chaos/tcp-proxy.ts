import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { freePort } from '../../src/embedded/server-process.ts';

export type TcpProxy = Awaited<ReturnType<typeof startTcpProxy>>;

/** A link to a local server that can be interrupted. */
export async function startTcpProxy(first: number) {
  let target = first;
  const sockets = new Set<Socket>();
  const port = await freePort();

  const link = (from: Socket, to: Socket) => {
    sockets.add(from);
    from.setNoDelay(true);
    from.on('data', (data) => {
      if (to.writable) to.write(data);
      else from.resetAndDestroy();
    });
    from.on('close', () => {
      sockets.delete(from);
      to.destroy();
    });
    from.on('error', () => {});
  };
  const server = createServer((socket) => {
    const other = connect(target, '127.0.0.1');
    link(socket, other);
    link(other, socket);
  });
  const restore = async () => {
    if (!server.listening) await once(server.listen(port, '127.0.0.1'), 'listening');
  };
  const cut = () => {
    server.close();
    for (const socket of sockets) socket.resetAndDestroy();
  };
  await restore();
  return {
    port,
    /** Ends every connection with a reset, and refuses new ones until `restore`. */
    cut,
    restore,
    /** New connections lead to another server. */
    leadTo: (next: number) => {
      target = next;
    },
    stop: async () => {
      if (!server.listening) return;
      cut();
      await once(server, 'close');
    },
  };
}
