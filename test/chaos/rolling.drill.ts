import { Agent, request } from 'undici';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { until } from '../support/until.ts';
import { type Deployment, type Role, startDeployment } from './deployment.ts';
import { drawBackends } from './drawn.ts';

let deployment: Deployment;
afterEach(() => deployment.stop());

/** A load balancer detects a stopped receiver by a refused connection, so this is no failed request. */
const isRefused = (error: { code?: string }) => error.code === 'ECONNREFUSED';

/** Senders on keep-alive connections, which use the other receiver while one is stopped. */
function startSending(urls: readonly string[], senders: number) {
  const agent = new Agent({ pipelining: 1, connections: senders });
  const acknowledged: string[] = [];
  const failures: unknown[] = [];
  let next = 0;
  let running = true;
  const post = async (url: string, body: string) => {
    const headers = { 'content-type': 'application/json' };
    const response = await request(url + paths.receipt, { dispatcher: agent, method: 'POST', headers, body });
    const { id } = (await response.body.json()) as { id: string };
    if (response.statusCode === 200) acknowledged.push(id);
    else failures.push(response.statusCode);
  };
  const send = async (sender: number) => {
    while (running) {
      next += 1;
      const body = JSON.stringify(receiptCallback({ data: { receipt_id: next } }));
      const [first, second] = sender % 2 === 0 ? urls : [...urls].reverse();
      await post(first!, body)
        .catch((error) => (isRefused(error) ? post(second!, body) : Promise.reject(error)))
        .catch((error) => failures.push(error));
    }
  };
  const sending = Promise.all(Array.from({ length: senders }, (_, sender) => send(sender)));
  return {
    acknowledged,
    failures,
    stop: async () => {
      running = false;
      await sending;
      await agent.close();
    },
  };
}

it.each(drawBackends('rolling'))(
  'on %s, restarting two receivers and two workers in turn fails no request, and loses or repeats no delivery',
  async (backend) => {
    deployment = await startDeployment(backend, { each: 2 });
    // Records each write of a row.
    await deployment.rows('create table writes (receipt_id bigint)');
    await deployment.rows(`create function note() returns trigger language plpgsql as
      'begin insert into writes values (new.receipt_id); return new; end'`);
    await deployment.rows(
      'create trigger note after insert or update on receipts for each row execute function note()',
    );
    const load = startSending(deployment.directUrls, 8);
    const { acknowledged, failures } = load;
    const moreAcknowledged = () => {
      const enough = acknowledged.length + 100;
      return until(() => acknowledged.length > enough);
    };
    try {
      for (const [role, index] of [
        ['receiver', 0],
        ['worker', 0],
        ['receiver', 1],
        ['worker', 1],
      ] satisfies [Role, number][]) {
        await moreAcknowledged(); // so that connections to both are open
        expect(await deployment.processOf(role, index).end('SIGTERM')).toBe(0);
        await moreAcknowledged();
        await deployment.start(role, index);
      }
    } finally {
      await load.stop();
    }
    expect(failures).toEqual([]);
    await until(async () => {
      const [row] = await deployment.rows(
        `select count(*)::int as n from deliveries where status = 'applied'`,
      );
      return row!.n === acknowledged.length;
    });
    expect(await deployment.rows('select id from deliveries where delivery_count > 1')).toEqual([]);
    const [written] = await deployment.rows(
      'select count(*)::int as n, count(distinct receipt_id)::int as things from writes',
    );
    expect(written).toEqual({ n: acknowledged.length, things: acknowledged.length });
    expect(new Set(acknowledged).size).toBe(acknowledged.length);
  },
);
