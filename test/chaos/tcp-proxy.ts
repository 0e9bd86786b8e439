import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { freePort } from '../../src/store/embedded/free-port.ts';
import { draw } from './drawn.ts';

/** What a link does to data. Default: nothing. */
export interface LinkConditions {
  /** Milliseconds that all data takes. */
  delayMs?: number;
  /** Up to this much more, different for each piece. The order is kept, as TCP keeps it. */
  jitterMs?: number;
  /** Data arrives in pieces of at most this many bytes. */
  pieceBytes?: number;
  /** In each direction of each connection. */
  bytesPerSecond?: number;
  /**
   * The direction in which nothing arrives, to the server or from it; TCP delivers it afterwards. New connections are
   * accepted, and stay silent.
   */
  stalled?: 'there' | 'back' | 'both';
}

export interface TcpProxy {
  port: number;
  /** Ends every connection with a reset, and accepts new ones. */
  reset: () => void;
  /** Ends every connection with a reset on the server's side only: the other side learns of it when it sends. */
  halfOpen: () => void;
  /** Ends every connection with a reset, and refuses new ones until `restore`. */
  cut: () => void;
  restore: () => Promise<void>;
  /** Delays all data in both directions. */
  delay: (milliseconds: number) => void;
  /** Replaces the link's conditions, for all connections. */
  set: (conditions: LinkConditions) => void;
  /** Forwards new connections to another port. */
  redirect: (port: number) => void;
  stop: () => Promise<void>;
}

/** The pieces on their way in one direction of a connection, and when each arrives. */
interface Direction {
  pieces: { at: number; data: Buffer }[];
  timer: NodeJS.Timeout | undefined;
  deliver: () => void;
}

/**
 * A link to a local server that can be interrupted.
 *
 * @param at the port to listen on; default: any
 */
export async function startTcpProxy(port: number, at = 0): Promise<TcpProxy> {
  const near = new Map<Socket, Direction>();
  const far = new Map<Socket, Direction>();
  const ownPort = at || (await freePort());
  let target = port;
  let conditions: LinkConditions = {};
  let silentEnds = new WeakSet<Socket>();

  const link = (from: Socket, to: Socket, side: Map<Socket, Direction>, way: 'there' | 'back') => {
    const direction: Direction = {
      pieces: [],
      timer: undefined,
      deliver: () => {
        clearTimeout(direction.timer);
        direction.timer = undefined;
        if (conditions.stalled === way || conditions.stalled === 'both') return;
        const { pieces } = direction;
        while (pieces.length > 0 && pieces[0]!.at <= performance.now()) {
          const { data } = pieces.shift()!;
          if (to.writable) to.write(data);
          else from.resetAndDestroy();
        }
        if (pieces.length > 0) {
          direction.timer = setTimeout(direction.deliver, pieces[0]!.at - performance.now());
        }
      },
    };
    side.set(from, direction);
    from.setNoDelay(true);
    from.on('data', (data) => {
      for (const piece of split(data, conditions.pieceBytes)) {
        direction.pieces.push({ data: piece, at: arrival(direction, piece.length, conditions) });
      }
      if (!direction.timer) direction.deliver();
    });
    from.on('close', () => {
      side.delete(from);
      clearTimeout(direction.timer);
      if (!silentEnds.has(from)) to.destroy();
    });
    from.on('error', () => {});
  };
  const server = createServer((socket) => {
    const other = connect(target, '127.0.0.1');
    link(socket, other, near, 'there');
    link(other, socket, far, 'back');
  });
  const restore = async () => {
    if (!server.listening) await once(server.listen(ownPort, '127.0.0.1'), 'listening');
  };
  const reset = () => {
    for (const socket of [...near.keys(), ...far.keys()]) socket.resetAndDestroy();
  };
  const cut = () => {
    server.close();
    reset();
  };
  const set = (next: LinkConditions) => {
    conditions = next;
    for (const direction of [...near.values(), ...far.values()]) {
      for (const piece of direction.pieces) piece.at = 0;
      direction.deliver();
    }
  };
  await restore();
  return {
    port: ownPort,
    reset,
    halfOpen: () => {
      silentEnds = new WeakSet(far.keys());
      for (const socket of far.keys()) socket.resetAndDestroy();
    },
    cut,
    restore,
    delay: (milliseconds) => set({ delayMs: milliseconds }),
    set,
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

function* split(data: Buffer, pieceBytes = Number.POSITIVE_INFINITY): Generator<Buffer> {
  for (let at = 0; at < data.length; at += pieceBytes) yield data.subarray(at, at + pieceBytes);
}

function arrival({ pieces }: Direction, bytes: number, conditions: LinkConditions): number {
  const { delayMs = 0, jitterMs = 0, bytesPerSecond } = conditions;
  if (delayMs + jitterMs === 0 && !bytesPerSecond && pieces.length === 0) return 0;
  const previous = pieces.at(-1)?.at ?? 0;
  const soonest = performance.now() + delayMs + draw() * jitterMs;
  return Math.max(soonest, previous) + (bytesPerSecond ? (bytes / bytesPerSecond) * 1000 : 0);
}
