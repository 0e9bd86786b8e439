import { families } from '../../src/families/index.ts';
import { readProblems } from '../../src/health/read-problems.ts';
import { applyReportTimezone } from '../../src/store/reporting/settings.ts';
import { adminToken, signInTo } from '../console/visitor.ts';
import { alertsTo, startWebhook } from '../support/alert-channels.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';

const { database, start } = useService({ per: 'test' });

const uptime = (from: string, to: string) =>
  database.rows('insert into uptime values ($1::timestamptz, $2::timestamptz)', [from, to]);
/** A moment before now, by the clock of Kolkata: a whole minute, and its text. */
async function ago(minutes: number) {
  const [row] = await database.rows(
    `select at::text, to_char(at at time zone 'Asia/Kolkata', 'YYYY-MM-DD') as day,
       to_char(at at time zone 'Asia/Kolkata', 'HH24:MI') as time
     from (select date_trunc('minute', now()) - $1 * interval '1 minute' as at) moment`,
    [minutes],
  );
  return row as { at: string; day: string; time: string };
}

/** An outage, and the title of its problem. */
async function outage(fromMinutes: number, untilMinutes: number): Promise<string> {
  const [from, to] = [await ago(fromMinutes), await ago(untilMinutes)];
  await uptime('2026-01-01', from.at);
  await uptime(to.at, (await ago(0)).at);
  const end = from.day === to.day ? to.time : `${to.day} ${to.time}`;
  return `Not receiving from ${from.day} ${from.time} to ${end}`;
}

const titles = async () => (await readProblems(database.pool)).map(({ title }) => title);

it('an outage that has ended is a problem for two days, with its times in the zone of the reports and what to do', async () => {
  const title = await outage(200, 102);
  const [problem, ...others] = await readProblems(database.pool);
  expect(others).toEqual([]);
  const day = title.split(' ')[3];
  expect(problem).toMatchObject({
    kind: 'outage',
    status: 'warn',
    title,
    detail: expect.stringMatching(
      `for 98 minutes. .*npx receiver reconcile --from ${day} --to \\d{4}-.*cannot be verified: ask the platform`,
    ),
  });
  await applyReportTimezone(database.db, 'UTC');
  expect(await titles()).toEqual([expect.not.stringContaining(title)]);
  await database.rows(
    `update uptime set from_at = from_at - interval '2 days', until_at = until_at - interval '2 days'`,
  );
  expect(await titles()).toEqual([]);
});

it('one that has ended just now is not named yet: another receiver may have held its beats in memory', async () => {
  await outage(60, 1);
  expect(await titles()).toEqual([]);
});

it('Health and an alert name it; /readyz stays ok', async () => {
  const title = await outage(200, 102);
  const webhook = await startWebhook();
  try {
    const { url } = await start({ role: 'receiver', adminToken, alerts: alertsTo(webhook.url) });
    await until(() => webhook.messages.some((text) => text.includes(title)));
    const visitor = await signInTo(url);
    expect(await visitor.read('/health')).toContain(title);
    expect(await visitor.read('/reports/outages')).toContain('98');
    const ready = await fetch(`${url}/readyz`, { headers: { authorization: `Bearer ${adminToken}` } });
    expect(await ready.json()).toMatchObject({ parts: { processing: { ok: true } } });
  } finally {
    await webhook.stop();
  }
});

it('a receiver has a heartbeat from its start to its stop, and a worker none', async () => {
  const last = async () =>
    (await database.rows('select until_at from uptime')).map((row) => row.until_at as Date);
  const worker = await start({ role: 'worker', families });
  await worker.stop();
  expect(await last()).toEqual([]);
  const receiver = await start({ role: 'receiver' });
  await until(async () => (await last()).length > 0);
  const [begun] = await last();
  await receiver.stop();
  const [ended, ...others] = await last();
  expect(others).toEqual([]);
  expect(ended!.getTime()).toBeGreaterThan(begun!.getTime());
});
