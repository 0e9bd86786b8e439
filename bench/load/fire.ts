import autocannon from 'autocannon';
import { Latencies } from './latencies.ts';
import type { LoadFigures, LoadOrder } from './order.ts';
import { evenly, type Pace, unbounded } from './pace.ts';

// Seconds to wait for the last responses after the load.
const lastResponses = 30;

/** The part of autocannon's connection that we use. */
interface Connection {
  _doRequest: () => void;
  getRequestBuffer: () => Buffer;
  destroy: () => void;
}

/**
 * Sends requests to a receiver. autocannon handles the connections; this function decides which bytes are sent,
 * and when.
 *
 * Where all connections were busy, a latency counts from when the request was due: otherwise a receiver that
 * stalls would hide the requests that it delayed (coordinated omission).
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
  const counts = { acknowledged: 0, rejected: 0 };
  let next = 0;
  let lastSent = begin;
  let lastResponse = begin;

  const setupClient = (client: Connection) => {
    const send = client._doRequest.bind(client);
    let due = 0;
    client.getRequestBuffer = () => requests[next++]!;
    client._doRequest = () => {
      const slot = next < requests.length ? pace() : undefined;
      if (slot === undefined) return void setImmediate(() => client.destroy()); // once it has listeners
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
    duration: order.warmup + order.seconds + lastResponses,
    timeout: order.warmup + order.seconds + lastResponses,
    sampleInt: 100,
    setupClient: setupClient as never,
  };
  await new Promise<void>((resolve, reject) => {
    const run = autocannon(options, (error) => (error ? reject(error) : resolve()));
    run.on('response', (client, statusCode) => {
      const sent = sentAt.get(client)!;
      lastResponse = performance.now();
      if (statusCode >= 300) counts.rejected += 1;
      else {
        counts.acknowledged += 1;
        if (sent >= measured && lastResponse <= end) latencies.add(lastResponse - sent);
      }
    });
  });

  const used = process.cpuUsage(cpu);
  const total = process.cpuUsage();
  const seconds = (lastResponse - begin) / 1000;
  const window = (Math.min(end, lastSent) - measured) / 1000;
  return {
    ...counts,
    began,
    seconds,
    perSecond: window > 0 ? latencies.count / window : 0,
    p50: latencies.percentile(0.5),
    p99: latencies.percentile(0.99),
    cpu: (used.user + used.system) / 1e6 / seconds,
    cpuSeconds: (total.user + total.system) / 1e6,
  };
}
