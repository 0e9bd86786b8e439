import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { cursorOfNow } from '../../src/changes/cursor-of-now.ts';
import { addDestination } from '../../src/destinations/destination-table.ts';
import { secretText } from '../../src/destinations/sign.ts';
import { families } from '../../src/families/index.ts';
import { erasePatient } from '../../src/privacy/erasure/erase.ts';
import { draw, drawBackends, minutes } from '../chaos/drawn.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { killProcesses, spawnService, type TestProcess } from '../support/process.ts';
import { openRedis, type TestRedis } from '../support/redis.ts';
import { post } from '../support/service.ts';
import { until } from '../support/until.ts';
import { type ReceivedWebhook, startWebhookReceiver } from '../support/webhook-receiver.ts';

const callbacks = 2_000 + 1_500 * minutes;
/** For all of them on a busy machine, and for what is left of them. */
const limitMs = 120_000 + callbacks * 20;
jest.setTimeout(600_000 + limitMs);
const changesOfRecord = 8;
const senders = 16;
const erased = { id: '700000000000001', name: 'Erased Person' };

const database = useDatabase({ per: 'test' });
let redis: Pick<TestRedis, 'url' | 'stop'> | undefined;
const consumers: Awaited<ReturnType<typeof startWebhookReceiver>>[] = [];
let freeing: NodeJS.Timeout | undefined;
afterEach(async () => {
  clearInterval(freeing);
  killProcesses();
  await Promise.all(consumers.splice(0).map((consumer) => consumer.stop()));
  await redis?.stop();
  redis = undefined;
});

async function addConsumer() {
  const consumer = await startWebhookReceiver();
  consumers.push(consumer);
  const selection = {
    url: consumer.url,
    families: ['receipt'],
    businessId: null,
    isPublic: false,
  };
  const { secret } = await addDestination(database.db, selection, await cursorOfNow(database.db));
  // Its content: versions may repeat after a kill.
  consumer.orderOf = ({ data }) => (data.record ? Number(data.record.net_amount) : Number.POSITIVE_INFINITY);
  consumer.secret = secretText(secret);
  return consumer;
}

/** A change of one of the current records: most have their last change long before the end, and none is sent again by another. */
const change = (n: number) =>
  receiptCallback({
    event_time: 1_700_000_000 + n,
    data: {
      receipt_id: 1 + Math.floor(n / changesOfRecord + draw() * 10),
      updated_at: 1_700_000_000_000 + n,
      net_amount: n,
    },
  });

it.each(drawBackends('webhooks'))(
  'queue on %s: quick, slow and failing consumers get the last version of each record in order, though workers are killed',
  async (backend) => {
    redis = backend === 'redis' ? await openRedis() : undefined;
    const env = {
      ...{
        DATABASE_URL: database.url,
        LOG_LEVEL: 'info',
        ALLOW_UNAUTHENTICATED: 'true',
      },
      ...(redis && { REDIS_URL: redis.url }),
    };
    const receiver = await spawnService({ ...env, ROLE: 'receiver' });
    const startWorker = () => spawnService({ ...env, ROLE: 'worker' });
    const workers: TestProcess[] = [await startWorker(), await startWorker()];

    const quick = await addConsumer();
    const slow = await addConsumer();
    slow.answer = (_webhook, res) => setTimeout(() => res.end(), 5);
    const failing = await addConsumer();
    const failures = [
      (res: ServerResponse) => res.writeHead(500).end(),
      (res: ServerResponse) => res.writeHead(503).end(),
      (res: ServerResponse) => res.destroy(),
    ];
    let isFailing = true;
    failing.answer = (_webhook, res) =>
      isFailing ? failures[Math.floor(draw() * failures.length)]!(res) : res.end();

    let erasedAt = Number.POSITIVE_INFINITY;
    const late: ReceivedWebhook[] = [];
    for (const consumer of consumers) {
      const { answer } = consumer;
      consumer.answer = (webhook, res) => {
        // What was being sent may arrive a moment later.
        if (Date.now() > erasedAt + 1_000 && JSON.stringify(webhook).includes(erased.name))
          late.push(webhook);
        return answer(webhook, res);
      };
    }

    const url = receiver.url + paths.receipt;
    for (const receipt_id of [900_001, 900_002]) {
      await post(url, receiptCallback({ data: { receipt_id, patient_oid: erased.id, name: erased.name } }));
    }
    let [n, killed] = [0, 0];
    const send = async () => {
      while (n < callbacks) {
        n += 1;
        const body = change(n);
        for (let times = draw() < 0.2 ? 2 : 1; times > 0; times -= 1) {
          const { status } = await post(url, body);
          if (status !== 200) throw new Error(`status ${status}`);
        }
      }
    };
    const recover = async () => {
      await until(() => n > (callbacks * 2) / 3, limitMs);
      isFailing = false;
      await database.rows('update destinations set next_at = now()');
    };
    const kill = async () => {
      while (n < callbacks) {
        await sleep(1_500);
        const [oldest] = workers.splice(0, 1);
        await oldest!.end('SIGKILL');
        killed += 1;
        workers.push(await startWorker());
      }
    };
    // What was leased and not renewed for seven seconds is free: its worker is dead.
    freeing = setInterval(() => {
      const notRenewed =
        "update destinations set leased_until = now() where leased_until < now() + interval '23 s'";
      void database.rows(notRenewed).catch(() => {});
    }, 500);
    const erase = async () => {
      await until(() => n > callbacks / 2, limitMs);
      const options = { actor: { id: 'test' }, keepMs: 0 };
      await erasePatient(database.db, families, { id: erased.id }, options);
      erasedAt = Date.now();
    };
    await Promise.all([...Array.from({ length: senders }, send), kill(), erase(), recover()]);

    const rows = await until(async () => {
      // In this order: what is applied between the two would be missing.
      const pending = await database.rows('select 1 from pending_deliveries limit 1');
      const found = await database.rows('select receipt_id, net_amount::float8 as amount from receipts');
      return pending.length === 0 ? found : undefined;
    }, limitMs);
    const expected = Object.fromEntries(rows.map(({ receipt_id, amount }) => [receipt_id, amount]));
    const amountsOf = ({ newest }: (typeof consumers)[0]) =>
      Object.fromEntries(
        Array.from(newest.values(), ({ data }) => [data.id, data.record?.net_amount]).filter(
          ([, amount]) => amount !== undefined,
        ),
      );
    for (const consumer of [quick, slow, failing]) {
      await until(() => JSON.stringify(amountsOf(consumer)) === JSON.stringify(expected), limitMs).catch(
        () => {},
      );
      expect(amountsOf(consumer)).toEqual(expected);
      expect(consumer.faults).toEqual([]);
    }
    expect(late).toEqual([]);
    for (const worker of workers) expect(await worker.end('SIGTERM')).toBe(0);
    process.stdout.write(
      `${killed} killed; ${[quick, slow, failing].map((one) => `${one.accepted.length} of ${one.requests}`).join(', ')}\n`,
    );
  },
);
