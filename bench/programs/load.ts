import { fire } from '../load/fire.ts';
import type { LoadOrder } from '../load/order.ts';
import { receiptRequests, take } from '../load/requests.ts';
import { fireWithWrk, wrkVersion } from '../load/wrk.ts';

// More than autocannon can send from one process.
const maxPerSecond = 16_000;

const order = JSON.parse(process.argv[2]!) as LoadOrder;
const source = receiptRequests({ ...order, host: new URL(order.url).host });

function fireFromHere() {
  const count = Math.ceil((order.seconds + order.warmup) * (order.rate ?? maxPerSecond)) + order.connections;
  return fire(order, take(source, count));
}

// wrk sends at no fixed rate.
const useWrk = order.rate === undefined && wrkVersion() !== undefined;
const figures = useWrk
  ? await fireWithWrk(order, source, { file: '.data/bench/requests' })
  : await fireFromHere();
process.stdout.write(`${JSON.stringify(figures)}\n`);
process.exit(0);
