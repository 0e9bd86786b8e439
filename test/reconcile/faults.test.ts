import { PlatformUnreadable } from '../../src/reconcile/platform.ts';
import { applyReportTimezone } from '../../src/store/reporting/settings.ts';
import { insertCallbacks } from '../support/deliveries.ts';
import { listedAppointments } from '../support/listed-appointments.ts';
import { startFaultyPlatform } from './faulty-server.ts';
import { useReconciliation } from './use-reconciliation.ts';

const { database, pass, applyAll, rowsNow, platformNow, numberOf } = useReconciliation();

const stopped: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of stopped.splice(0)) await close();
});

/** 200 appointments of 20 days: no callback told of every tenth. */
async function withAppointments() {
  const simulated = listedAppointments();
  const told = Array.from({ length: 200 }, (_, n) => simulated.book(n % 20)).filter((_, n) => n % 10 > 0);
  await insertCallbacks(database, told);
  await applyAll();
  return simulated;
}

const start = async (...given: Parameters<typeof startFaultyPlatform>) => {
  const started = await startFaultyPlatform(...given);
  stopped.push(started.close);
  return started;
};

it('lost connections, limits, errors and expired tokens in the middle of a window change no result', async () => {
  const simulated = await withAppointments();
  const faulty = await start(simulated.listed, (_, count) => {
    if (count % 9 === 5) faulty.expireTokens();
    if (count % 7 === 2) return 'lost';
    if (count % 7 === 4) return { status: 429, headers: { 'Retry-After': '0' } };
    if (count % 7 === 6) return { status: 503 };
    return 'no date';
  });
  const { platform } = faulty;
  expect(await pass({ ...simulated, platform } as never)).toMatchObject({
    counts: { missing: 20, filled: 20, agrees: 180, unknown: 0 },
    unsettled: [],
  });
  expect(faulty.logins()).toBeGreaterThan(2);
  await applyAll();
  expect(await rowsNow()).toEqual(platformNow(simulated));
});

it('days that cannot be read leave no others uncompared, and are read by the next attempt', async () => {
  const simulated = await withAppointments();
  let isBroken = true;
  const { platform } = await start(simulated.listed, ({ searchParams }) =>
    isBroken && searchParams.get('start_date') === '2026-06-08' && searchParams.get('page_no') === '1'
      ? { status: 500 }
      : undefined,
  );
  const faulty = { ...simulated, platform } as never;
  await expect(pass(faulty)).rejects.toThrow(PlatformUnreadable);
  const days = () =>
    database.rows('select min(day)::text as first, count(*)::int as days from reconciled_days');
  expect(await days()).toEqual([{ first: '2026-06-01', days: 13 }]);
  isBroken = false;
  expect(await pass(faulty)).toMatchObject({ unsettled: [] });
  expect(await days()).toEqual([{ first: '2026-06-01', days: 20 }]);
  await applyAll();
  expect(await rowsNow()).toEqual(platformNow(simulated));
  expect(await numberOf('reconciliations')).toBe(1);
});

it('a pass whose sessions PostgreSQL ends is continued, and nothing comes in twice', async () => {
  const simulated = await withAppointments();
  simulated.platform.beforeAnswer = async (count) => {
    if (count % 25 === 20)
      await database.rows(`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`);
  };
  const attempt = () =>
    pass(simulated).then(
      () => true,
      () => false,
    );
  for (let attempts = 0; !(await attempt()); attempts++) expect(attempts).toBeLessThan(20);
  await applyAll();
  expect(await rowsNow()).toEqual(platformNow(simulated));
  expect(await numberOf('reconciled_deliveries')).toBe(20);
});

it('other days, and days of another time zone, find nothing again', async () => {
  const simulated = await withAppointments();
  await pass(simulated, { from: '2026-06-05' });
  await applyAll();
  await pass(simulated);
  await applyAll();
  expect(await rowsNow()).toEqual(platformNow(simulated));
  for (const zone of ['America/Los_Angeles', 'Pacific/Auckland', 'Asia/Kolkata']) {
    await applyReportTimezone(database.db, zone);
    expect(await pass(simulated)).toMatchObject({ counts: { missing: 0, differs: 0, unknown: 0 } });
  }
  expect(await numberOf('reconciled_deliveries')).toBe(20);
});
