import { families } from '../../src/families/index.ts';
import { readProblems } from '../../src/health/read-problems.ts';
import type { Platform } from '../../src/reconcile/platform.ts';
import { createLeases } from '../../src/store/lease.ts';
import { createReconciliation } from '../../src/worker/reconciliation.ts';
import { insertCallbacks } from '../support/deliveries.ts';
import { listedAppointments } from '../support/listed-appointments.ts';
import { testConfig } from '../support/service.ts';
import { useReconciliation } from './use-reconciliation.ts';

const { database, newIntake, log, numberOf, applyAll } = useReconciliation();

const today = Math.floor(Date.now() / 1000);

const config = testConfig({});
const subscription = {
  id: 's1',
  endpoint: `https://any.invalid${config.paths.other![0]}`,
  signing_key: 'a-key',
};

/** The task of a worker that has just started, with what it asked besides appointments. */
function newWorker(platform: Platform, days: number | undefined = 2) {
  const stopping = new AbortController();
  const opened: number[] = [];
  const asked: string[] = [];
  const openPlatform = async () => {
    opened.push(1);
    const listSubscriptions = async () => {
      asked.push('subscriptions');
      return { data: [subscription] };
    };
    const directory = async () => {
      asked.push('names');
      return { data: {} };
    };
    return { ...platform, listSubscriptions, directory };
  };
  const leases = createLeases(database.db);
  const own = { ...config, reconcile: days ? { days } : undefined };
  const dependencies = {
    db: database.db,
    config: own,
    families,
    intake: newIntake(),
    openPlatform,
    leases,
    log,
  };
  const run = createReconciliation(dependencies, stopping.signal);
  return { run, opened, asked, stop: () => stopping.abort() };
}

/** A platform with an appointment of today that no callback told of. */
function withGap() {
  const simulated = listedAppointments(today);
  simulated.book(0, { start_time: today, created_at: today - 86_400 });
  return simulated;
}

it('without RECONCILE there is nothing to run', () => {
  expect(newWorker(withGap().platform, 0).run).toBeUndefined();
});

it('a pass runs once a day, whichever worker it is', async () => {
  const { platform } = withGap();
  for (const { run, opened } of [newWorker(platform), newWorker(platform)]) {
    await run!();
    await run!();
    expect([opened.length, await numberOf('reconciled_deliveries')]).toEqual([expect.any(Number), 1]);
  }
  const next = newWorker(platform);
  await database.rows(
    `update reconciliations set started_at = started_at - interval '1 day', to_day = to_day - 1`,
  );
  await next.run!();
  expect(next.opened).toHaveLength(1);
  expect(await numberOf('reconciliations where ended_at is not null')).toBe(2);
});

it('subscriptions and names are compared once a day, also where a pass was run by hand or fails', async () => {
  const { platform } = withGap();
  const business = async () => {
    throw new Error('no answer');
  };
  const failing = newWorker({ ...platform, business });
  await expect(failing.run!()).rejects.toThrow('no answer');
  const both = ['subscriptions', 'names'];
  expect(failing.asked).toEqual(both);
  const worker = newWorker(platform);
  for (let times = 0; times < 2; times++) await worker.run!();
  expect(worker.asked).toEqual([]);
  expect(await numberOf('reconciliations where ended_at is not null')).toBe(1);
  await database.rows(`update platform_checks set checked_at = checked_at - interval '1 day'`);
  const next = newWorker(platform);
  for (let times = 0; times < 2; times++) await next.run!();
  expect(next.asked).toEqual(both);
  expect(await numberOf('reconciliations where ended_at is not null')).toBe(1);
});

it('a clock that was ahead for a while puts off neither the next pass nor the other comparisons', async () => {
  const { platform } = withGap();
  await newWorker(platform).run!();
  await database.rows(
    `update reconciliations set started_at = started_at + interval '400 days', ended_at = ended_at + interval '400 days',
       attempted_at = attempted_at + interval '400 days', to_day = to_day + 400`,
  );
  await database.rows(`update platform_checks set checked_at = checked_at + interval '400 days'`);
  const worker = newWorker(platform);
  await worker.run!();
  expect(worker.asked).toEqual(['subscriptions', 'names']);
  expect(await numberOf('reconciliations where ended_at <= now()')).toBe(1);

  await database.rows(
    `update reconciliations set started_at = started_at - interval '3 days', ended_at = ended_at - interval '3 days'
     where ended_at <= now()`,
  );
  expect(await kinds()).toContainEqual(['not reconciled', expect.stringMatching(/for 3 days/)]);
});

it('one worker at a time runs a pass', async () => {
  const { platform } = withGap();
  const worker = newWorker(platform);
  await createLeases(database.db).run('reconciliation', () => worker.run!());
  expect(worker.opened).toHaveLength(0);
  await worker.run!();
  expect(worker.opened).toHaveLength(1);
});

it('a stop ends a pass between two pages, and the next worker begins again', async () => {
  const simulated = withGap();
  const more = () => simulated.book(0, { start_time: today, created_at: today - 86_400 });
  await insertCallbacks(
    database,
    Array.from({ length: 8 }, () => more()),
  );
  await applyAll();
  const first = newWorker(simulated.platform);
  simulated.platform.beforeAnswer = async (count) => {
    if (count === 2) first.stop();
  };
  await expect(first.run!()).rejects.toThrow('aborted');
  await newWorker(simulated.platform).run!();
  expect(await numberOf('reconciliations where ended_at is not null')).toBe(1);
  expect(await numberOf('reconciled_deliveries')).toBe(1);
});

const kinds = async () => (await readProblems(database.pool)).map(({ kind, detail }) => [kind, detail]);

it('gaps that were found are a problem for a day', async () => {
  expect(await kinds()).toEqual([]);
  await newWorker(withGap().platform).run!();
  expect(await kinds()).toMatchObject([
    ['gaps', expect.stringMatching(/1 appointments were missing and 0 differed, of which 0/)],
  ]);
  await applyAll();
  expect(await kinds()).toMatchObject([['gaps', expect.stringMatching(/of which 1 are filled/)]]);
  await database.rows(`update reconciled_deliveries set found_at = now() - interval '25 hours'`);
  expect(await kinds()).toEqual([]);
});

it('a reconciliation that fails for two days is a problem, also where it is not known for which business', async () => {
  const { platform } = withGap();
  const business = async () => {
    throw new Error('no answer');
  };
  await expect(newWorker({ ...platform, business }).run!()).rejects.toThrow('no answer');
  expect(await kinds()).toEqual([]);
  await database.rows(`update reconciliations set started_at = now() - interval '49 hours'`);
  expect(await kinds()).toMatchObject([['not reconciled', expect.stringMatching(/for 2 days/)]]);
  // It is off: nobody tries.
  await database.rows(`update reconciliations set attempted_at = now() - interval '25 hours'`);
  expect(await kinds()).toEqual([]);
});
