import { readFileSync, rmSync } from 'node:fs';
import { receiptCallback } from '../support/callbacks.ts';
import { apply } from '../support/deliveries.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { createFollower } from './run-follower.ts';

const token = 'k3v9x7q2m5n8b1c4';
const { database, start } = useService({ per: 'test' });
const changes = {
  tokens: [{ token, isPublic: false }],
  allowedIps: [],
  streams: 4,
  heartbeatMs: 1_000,
  stalledMs: 10_000,
};

let follower: ReturnType<typeof createFollower>;
afterEach(async () => {
  await follower.killAll();
  rmSync(follower.folder, { recursive: true });
});

/** Of any of them, this is the newest state. */
const receipt = (receipt_id: number, amount_paid: number) =>
  receiptCallback({
    event_time: 1_700_000_000 + amount_paid,
    data: { receipt_id, amount_paid, updated_at: 1_700_000_000_000 + amount_paid },
  });

it('the example of docs/changes.md has twenty lines, and its table is that of the receipts, though a process is killed', async () => {
  const [, example] = /```js\n(.*?)```/s.exec(readFileSync('docs/changes.md', 'utf8'))!;
  expect(example!.trim().split('\n').length).toBeLessThanOrEqual(20);
  await apply(database, [receipt(1, 10), receipt(2, 20)]);
  const { url } = await start({ changes, role: 'receiver' });
  const env = { DATABASE_URL: database.url, RECEIVER_URL: url, CHANGES_TOKEN: token };
  follower = createFollower(example!, env);
  const first = follower.start();
  const paid = async () =>
    (await database.rows('select id, amount::int from paid order by id')).map(({ id, amount }) => [
      id,
      amount,
    ]);
  const sees = (rows: unknown[]) =>
    until(async () => JSON.stringify(await paid().catch(() => [])) === JSON.stringify(rows));
  await sees([
    ['1', 10],
    ['2', 20],
  ]);
  follower.start();
  await apply(database, [receipt(1, 11)]);
  await sees([
    ['1', 11],
    ['2', 20],
  ]);
  await follower.kill(first);
  await apply(database, [receipt(2, 21), receipt(3, 30)]);
  await sees([
    ['1', 11],
    ['2', 21],
    ['3', 30],
  ]);
});
