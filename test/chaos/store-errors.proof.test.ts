import { identify } from '../../src/intake/identity.ts';
import { receiptCallback } from '../support/callbacks.ts';
import { until } from '../support/until.ts';
import { countWaiting } from './counts.ts';
import { type Deployment, startDeployment } from './deployment.ts';
import { constraints, damagePrimaryKey, raising } from './faults/store-errors.ts';
import { type FaultyDisk, makeFaultyDisk, whyNoFaultyDisk } from './faulty-disk.ts';
import { send, untilApplied } from './sending.ts';

let deployment: Deployment;
let disk: FaultyDisk | undefined;
beforeAll(async () => {
  disk = whyNoFaultyDisk() ? undefined : makeFaultyDisk();
  deployment = await startDeployment('redis', { disk });
});
afterAll(async () => {
  await deployment.stop();
  disk?.remove();
});

/** Sends callbacks, one after another, and returns the ids of those that are acknowledged; the others may only get 503. */
async function sendSome(count = 5): Promise<string[]> {
  const ids: string[] = [];
  for (let sent = 0; sent < count; sent += 1) {
    const { status, id } = await send(deployment);
    expect([200, 503]).toContain(status);
    if (status === 200) ids.push(id);
  }
  return ids;
}

/** What is wrong, and how it is repaired. */
type Breakage = [cause: string, damage: () => Promise<unknown>, repair: () => Promise<unknown>];

const bySql = (cause: string, { damage, repair }: { damage: string; repair: string }): Breakage => [
  cause,
  () => deployment.rows(damage),
  () => deployment.rows(repair),
];

it.each<Breakage>([
  [
    'the primary key of inbox is damaged',
    () => damagePrimaryKey(deployment),
    () => deployment.rows('reindex index inbox_pkey'),
  ],
  bySql('a trigger on inbox raises', raising('inbox', 'P0001')),
  bySql('a trigger on inbox raises an error of data for every row', raising('inbox', '23514')),
  bySql('a trigger on pending_deliveries raises', raising('pending_deliveries', '42501')),
  bySql('no row fits a constraint of inbox', constraints['a CHECK that nothing fits']),
])('while %s, good callbacks are acknowledged from Redis, and applied afterwards', async (...breakage) => {
  const [, damage, repair] = breakage;
  await damage();
  const ids = await sendSome().finally(repair);
  expect(ids).toHaveLength(5);
  await untilApplied(deployment, ids);
  await until(async () => (await countWaiting(deployment)) === 0);
});

/** Resolves once the receiver uses PostgreSQL again: after outages in a row its probes are seconds apart. */
const untilClosed = () =>
  until(async () => {
    const headers = { Authorization: 'Bearer an-admin-token-of-tests' };
    const metrics = await (await fetch(`${deployment.url}/metrics`, { headers })).text();
    return /^receiver_circuit_open\{.*postgresql.*\} 0$/m.test(metrics);
  });

it('a delivery that alone gets an error of the store is never the fault of its sender, and its neighbours are stored', async () => {
  const poison = receiptCallback({ data: { receipt_id: 1_000_001 } });
  const { damage, repair } = raising('inbox', 'P0001', `new.id = '${identify(poison as never)}'`);
  await untilClosed();
  await deployment.rows(damage);
  try {
    const others = sendSome(20);
    const poisoned = await Promise.all([1, 2, 3].map(() => send(deployment, 'receipt', poison)));
    const ids = await others;
    expect(poisoned.map(({ status }) => status)).toEqual([503, 503, 503]);
    expect(ids).toHaveLength(20);
    await untilApplied(deployment, ids);
  } finally {
    await deployment.rows(repair);
  }
  const { status, id } = await send(deployment, 'receipt', poison);
  expect(status).toBe(200);
  await untilApplied(deployment, [id]);
});

// Needs Linux and a C compiler.
if (!whyNoFaultyDisk()) {
  it('with a disk on which each write and each sync take 300 ms, what is acknowledged is applied', async () => {
    disk!.set('slow', '*/database/*');
    const ids = await sendSome(3).finally(() => disk!.set('none'));
    expect(ids.length).toBeGreaterThan(0);
    await untilApplied(deployment, ids);
  });

  it('when the sync of the WAL fails, PostgreSQL ends, and what is acknowledged before and after is applied', async () => {
    const before = await sendSome(5);
    disk!.set('failing sync', '*/pg_wal/*');
    const during = await sendSome(5).finally(() => disk!.set('none'));
    const isAvailable = () => deployment.rows('select 1').then(Boolean, () => false);
    await until(isAvailable);
    expect(during).toHaveLength(5); // from Redis
    await untilApplied(deployment, [...before, ...during]);
  });
}
