import { Agent, request } from 'undici';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { until } from '../support/until.ts';
import { type Role, type Stage, setStage } from './stage.ts';

jest.setTimeout(180_000);

let stage: Stage;
afterEach(() => stage.stop());

/** Refused connections are what a load balancer tells a receiver that is away by; a request did not fail. */
const isRefused = (error: { code?: string }) => error.code === 'ECONNREFUSED';

/** Senders on connections that are kept open, each of which goes to the other receiver when one is away. */
function startSending(urls: readonly string[], senders: number) {
  const agent = new Agent({ pipelining: 1, connections: senders });
  const acknowledged: string[] = [];
  const failures: unknown[] = [];
  let next = 0;
  let going = true;
  const post = async (url: string, body: string) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await request(url + paths.receipt, { dispatcher: agent, method: 'POST', headers, body });
    const { id } = (await answer.body.json()) as { id: string };
    if (answer.statusCode === 200) acknowledged.push(id);
    else failures.push(answer.statusCode);
  };
  const send = async (sender: number) => {
    while (going) {
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
      going = false;
      await sending;
      await agent.close();
    },
  };
}

it.each(['redis', 'postgresql'] as const)(
  'on %s, restarting two receivers and two workers in turn fails no request and loses or repeats nothing',
  async (backend) => {
    stage = await setStage(backend, { each: 2 });
    // Notes each time that a row is written.
    await stage.rows('create table writes (receipt_id bigint)');
    await stage.rows(`create function note() returns trigger language plpgsql as
      'begin insert into writes values (new.receipt_id); return new; end'`);
    await stage.rows(
      'create trigger note after insert or update on receipts for each row execute function note()',
    );
    const load = startSending(stage.urls, 8);
    const { acknowledged, failures } = load;
    const goesOn = () => {
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
        await goesOn(); // so that connections to both are open
        expect(await stage.processOf(role, index).end('SIGTERM')).toBe(0);
        await goesOn();
        await stage.start(role, index);
      }
    } finally {
      await load.stop();
    }
    expect(failures).toEqual([]);
    await until(async () => {
      const [row] = await stage.rows(`select count(*)::int as n from deliveries where status = 'applied'`);
      return row!.n === acknowledged.length;
    });
    expect(await stage.rows('select id from deliveries where delivery_count > 1')).toEqual([]);
    const [written] = await stage.rows(
      'select count(*)::int as n, count(distinct receipt_id)::int as things from writes',
    );
    expect(written).toEqual({ n: acknowledged.length, things: acknowledged.length });
    expect(new Set(acknowledged).size).toBe(acknowledged.length);
  },
);
