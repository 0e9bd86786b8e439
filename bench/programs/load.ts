import { fire } from '../load/fire.ts';
import type { LoadOrder } from '../load/order.ts';
import { makeRequests } from '../load/requests.ts';

// More than autocannon can send from one process.
const mostPerSecond = 16_000;

const order = JSON.parse(process.argv[2]!) as LoadOrder;
const count = Math.ceil((order.seconds + order.warmup) * (order.rate ?? mostPerSecond)) + order.connections;
const { host } = new URL(order.url);
const requests = makeRequests({ ...order, host, count });
process.stdout.write(`${JSON.stringify(await fire(order, requests))}\n`);
process.exit(0);
