import autocannon from 'autocannon';
import { Latencies } from './latencies.ts';
import type { LoadFigures, LoadOrder } from './order.ts';
import { evenly, type Pace, unbounded } from './pace.ts';

// Seconds for the answers that are still to come when the time is over.
const patience = 30;

/** What we use of one of autocannon's connections. */
interface Connection {
  _doRequest: () => void;
  getRequestBuffer: () => Buffer;
  destroy: () => void;
}

/**
 * Fires requests at a receiver: autocannon keeps the connections, writes and reads; which bytes are sent,
 * and when, is decided here.
 *
 * A latency runs from the moment the request was due if all connections were busy then, so that a receiver
 * that stalls is not spared the requests that it kept from being sent.
 */
export async function fire(order: LoadOrder, requests: readonly Buffer[]): Promise<LoadFigures> {
  const latencies = new Latencies();
  const sentAt = new Map<unknown, number>();
  const cpu = process.cpuUsage();
  const begin = performance.now();
  const began = Date.now();
  const measured = begin + order.warmup * 1000;
  const end = measured + order.seconds * 1000;
  const pace: Pace = order.rate ? evenly(begin, end, order.rate) : unbounded(end);
  const counts = { acknowledged: 0, refused: 0, errors: 0 };
  let next = 0;
  let lastSent = begin;
  let lastAnswer = begin;

  const setupClient = (client: Connection) => {
    const send = client._doRequest.bind(client);
    let due = 0;
    client.getRequestBuffer = () => requests[next++]!;
    client._doRequest = () => {
      const slot = next < requests.length ? pace() : undefined;
      if (slot === undefined) return void setImmediate(() => client.destroy()); // not before it has listeners
      due = slot;
      const early = slot - performance.now();
      if (early < 1) fireNow(early < 0);
      else setTimeout(fireNow, early, false);
    };
    const fireNow = (late: boolean) => {
      if (next >= requests.length) return client.destroy();
      lastSent = performance.now();
      sentAt.set(client, late ? due : lastSent);
      send();
    };
  };

  const options = {
    url: order.url + order.path,
    method: 'POST' as const,
    connections: order.connections,
    duration: order.warmup + order.seconds + patience,
    timeout: order.warmup + order.seconds + patience,
    sampleInt: 100,
    setupClient: setupClient as never,
  };
  await new Promise<void>((resolve, reject) => {
    const run = autocannon(options, (error) => (error ? reject(error) : resolve()));
    run.on('response', (client, statusCode) => {
      const sent = sentAt.get(client)!;
      lastAnswer = performance.now();
      if (statusCode >= 300) counts.refused += 1;
      else {
        counts.acknowledged += 1;
        if (sent >= measured && lastAnswer <= end) latencies.add(lastAnswer - sent);
      }
    });
    run.on('reqError', () => {
      counts.errors += 1;
    });
  });

  const used = process.cpuUsage(cpu);
  const inAll = process.cpuUsage();
  const seconds = (lastAnswer - begin) / 1000;
  const window = (Math.min(end, lastSent) - measured) / 1000;
  return {
    ...counts,
    began,
    seconds,
    perSecond: window > 0 ? latencies.count / window : 0,
    p50: latencies.percentile(0.5),
    p99: latencies.percentile(0.99),
    max: latencies.percentile(1),
    cpu: (used.user + used.system) / 1e6 / seconds,
    cpuSeconds: (inAll.user + inAll.system) / 1e6,
  };
}
