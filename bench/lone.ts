import { once } from 'node:events';
import { connect } from 'node:net';
import { history } from '../src/sandbox/history.ts';
import { withClient } from '../src/store/pool.ts';
import { type Contender, receiptsPath } from './contenders/contender.ts';
import { Latencies } from './load/latencies.ts';
import { requestOf } from './load/requests.ts';

const max = { warmups: 20, measured: 60 };
// A worker that polls takes half a second for each, and gets fewer.
const maxMs = { warmup: 1500, all: 6000, each: 30_000 };
// The worker is idle again: our receiver waits up to 40 ms before its next job.
const pauseMs = 50;

/**
 * Sends new receipts one at a time, each when the row of the one before is there and the worker is idle again.
 *
 * @returns the median time from sending a request to the row, milliseconds
 */
export function loneDelivery(
  { signingKey }: Contender,
  receiverUrl: string,
  databaseUrl: string,
  seed: number,
): Promise<number> {
  const { host, hostname, port } = new URL(receiverUrl);
  return withClient(databaseUrl, async (client) => {
    const socket = connect(Number(port), hostname).setNoDelay();
    await once(socket, 'connect');
    const text = 'select 1 from receipts where business_id = $1 and receipt_id = $2';
    const stored = async (values: unknown[]) => {
      const deadline = performance.now() + maxMs.each;
      while ((await client.query({ name: 'stored', text, values })).rowCount === 0) {
        if (performance.now() > deadline) throw new Error(`A receipt did not arrive: ${values.join(', ')}`);
        pause(0.2);
      }
      return performance.now();
    };
    const accepted = async () => {
      const [data] = (await once(socket, 'data')) as [Buffer];
      if (!data.toString().startsWith('HTTP/1.1 200')) throw new Error(data.toString());
    };
    const warmup = new Latencies();
    const latencies = new Latencies();
    const start = performance.now();
    for (const { event, body, envelope } of history({ seed })) {
      if (event !== 'receipt.created') continue; // an update has a row already
      const request = requestOf(body, { host, path: receiptsPath, signingKey });
      const sent = performance.now();
      socket.write(request);
      const [now] = await Promise.all([stored([envelope.business_id, envelope.data.receipt_id]), accepted()]);
      const warm = warmup.count === max.warmups || sent - start > maxMs.warmup;
      (warm ? latencies : warmup).add(now - sent);
      if (latencies.count === max.measured || now - start > maxMs.all) break;
      pause(pauseMs);
    }
    socket.destroy();
    return latencies.percentile(0.5);
  });
}

// Timers are not as fine; it leaves the core to the contender.
function pause(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
