import { startPgBouncer } from '../../support/pgbouncer.ts';
import { useReceiverDatabase } from '../../support/receiver-database.ts';
import { race } from './race.ts';

const database = useReceiverDatabase('test');
const goOn = () => {
  const end = Date.now() + Math.max(1, Number(process.env.DRILL_MINUTES)) * 20_000;
  return () => Date.now() < end;
};
const seed = Number(process.env.TEST_SEED ?? 1);

it('while sessions are ended and rows locked, no row is wrong and nothing stays', async () => {
  expect(await race(database, goOn(), seed)).toMatchObject({ wrong: [], deadlocks: 0 });
}, 600_000);

it('the same behind a pooler that gives each transaction another session', async () => {
  const pooler = await startPgBouncer(database.url);
  try {
    expect(await race(database, goOn(), seed, pooler.url)).toMatchObject({
      ...{ wrong: [], deadlocks: 0 },
    });
  } finally {
    await pooler.stop();
  }
}, 600_000);
