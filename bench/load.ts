import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { receiptCallback } from './callbacks.ts';

export interface LoadOrder {
  url: string;
  connections: number;
  seconds: number;
  /** Default: the next one on a connection as soon as the last is answered. */
  perSecond?: number;
  /** Default: as many as are answered. */
  requests?: number;
  /** Each series has other receipts. */
  series: number;
}

export interface LoadFigures {
  /** 200s within the time of the load, per second. */
  perSecond: number;
  /** All 200s. */
  acknowledged: number;
  /** When the first request was sent, milliseconds since 1970. */
  began: number;
  /** Milliseconds from a request to its response. */
  p50: number;
  p99: number;
}

/** Unguessable: the platform's documents have no signature. */
export const eventsPath = '/events/bench-4c2d4f8e9a516b0c5e7d';

// More than a receiver of one thread answers.
const maxPerSecond = 30_000;

/**
 * Sends as many receipts as the receiver answers, each once, over connections that are kept open. The requests are
 * made before the first is sent; plain sockets cost a third of what a client of HTTP does.
 *
 * @throws Error when a response is not 200, or no request is left
 */
export async function sendLoad({
  url,
  connections,
  seconds,
  series,
  perSecond,
  requests: count,
}: LoadOrder): Promise<LoadFigures> {
  const { host, hostname, port } = new URL(url);
  const requests = Array.from({ length: count ?? (perSecond ?? maxPerSecond) * seconds }, (_, number) =>
    requestOf(host, receiptCallback(series, number)),
  );
  const sockets = Array.from({ length: connections }, () => connect(Number(port), hostname).setNoDelay());
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));

  const latencies: number[] = [];
  let next = 0;
  let acknowledged = 0;
  const started = performance.now();
  const began = performance.timeOrigin + started;
  const end = started + seconds * 1000;
  const sendOn = async (socket: Socket) => {
    for (let now = performance.now(); now < end; now = performance.now()) {
      const number = next++;
      const request = requests[number];
      if (!request && (count || perSecond)) return;
      if (!request) throw new Error(`The load has no more than ${maxPerSecond} requests per second.`);
      // Late ones count from when they were due.
      const sent = perSecond ? started + (number / perSecond) * 1000 : now;
      if (sent > now) await pause(sent - now);
      socket.write(request);
      await responseOn(socket);
      acknowledged += 1;
      now = performance.now();
      if (now <= end) latencies.push(now - sent);
    }
  };
  await Promise.all(sockets.map(sendOn));
  for (const socket of sockets) socket.destroy();
  latencies.sort((a, b) => a - b);
  const percentile = (share: number) => latencies[Math.floor(latencies.length * share)] ?? 0;
  return {
    perSecond: latencies.length / seconds,
    acknowledged,
    began,
    p50: percentile(0.5),
    p99: percentile(0.99),
  };
}

function requestOf(host: string, body: string): Buffer {
  return Buffer.from(
    `POST ${eventsPath} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

/** Resolves when the whole response has arrived. */
function responseOn(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = '';
    const finish = (error?: Error) => {
      socket.removeListener('data', read).removeListener('close', closed).removeListener('error', finish);
      if (error) reject(error);
      else resolve();
    };
    const closed = () => finish(new Error('The receiver closed a connection.'));
    const read = (chunk: Buffer) => {
      text += chunk.toString('latin1');
      const head = text.indexOf('\r\n\r\n');
      if (head === -1) return;
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1]);
      if (text.length < head + 4 + length) return;
      finish(text.startsWith('HTTP/1.1 200') ? undefined : new Error(`The receiver responded ${text}`));
    };
    socket.on('data', read).on('close', closed).on('error', finish);
  });
}

// A process of its own: the load must not wait for the one that measures.
process.on('message', (order: LoadOrder) => {
  sendLoad(order).then(
    (figures) => process.send!(figures),
    (error: Error) => process.send!({ error: error.message }),
  );
});
