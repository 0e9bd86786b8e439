import { sql } from 'kysely';
import { takesCallbacks } from '../common/config/config.ts';
import { printable } from '../common/terminal.ts';
import type { Check, Core, RunningCore, Task } from '../receiver/feature.ts';
import { type Channel, type Message, NotSent, openChannels } from './channels.ts';
import { outageTitle, readReadiness } from './process-checks.ts';
import { readChecks, titleOf, unreadable } from './read-checks.ts';

const maxLines = 20;
const headings = { new: 'New', worse: 'Worse', still: 'Still there', resolved: 'Resolved' };

interface Alert {
  what: keyof typeof headings;
  name: string;
  about?: string;
  status: 'warn' | 'fail';
  title: string;
  check?: Check | undefined;
}

const keyOf = ({ name, about = '' }: Alert | Check) => JSON.stringify([name, about]);

/** A message is recorded after the channel has accepted it, so a crash in between repeats it. @throws the database's error */
export async function sendAlerts(core: RunningCore, signal: AbortSignal): Promise<void> {
  const channels = openChannels(core.config.alerts);
  // Each process sends an outage of PostgreSQL, see createOutageAlert.
  const faults = (await readChecks(core)).filter(
    ({ name, status }) => status !== 'ok' && name !== 'database',
  );
  signal.throwIfAborted();
  // The first of several with one key is the most urgent, and counts.
  const checks = new Map(faults.toReversed().map((check) => [keyOf(check), check]));
  await recordFindings(core, channels, [...checks.values()]);
  for (const channel of channels) {
    const due = await findDue(core, channel.name);
    if (due.length === 0) continue;
    const message = compose(due.map((alert) => ({ ...alert, check: checks.get(keyOf(alert)) })));
    if (await send(core, channel, message, signal)) await recordSent(core, channel.name, due);
  }
}

const interval = (ms: number) => sql`${ms}::float8 * interval '1 millisecond'`;
const ago = (ms: number) => sql`now() - ${interval(ms)}`;

async function recordFindings({ db, config }: Core, channels: readonly Channel[], faults: Check[]) {
  const { settledMs, afterMs } = config.alerts;
  const names = channels.map(({ name }) => name);
  // A check that could not be read may still be wrong. A worker has no access checks.
  const isComplete = !faults.some(({ name }) => name === unreadable);
  const unknown = takesCallbacks(config) ? '' : 'access';
  await sql`
    with faults as (
      select name, coalesce(about, '') as about, status, title
      from jsonb_to_recordset(${JSON.stringify(faults)}::jsonb) as f(name text, about text, status text, title text)
    ), over as (
      update receiver.findings f set gone_at = coalesce(gone_at, now())
      where (${isComplete} or name = ${unreadable}) and name <> ${unknown}
        and not exists (select from faults where (faults.name, faults.about) = (f.name, f.about))
    )
    insert into receiver.findings (channel, name, about, status, title)
    select channel, faults.* from faults cross join unnest(${names}::text[]) channel
    on conflict (channel, name, about) do update set status = excluded.status, title = excluded.title, gone_at = null
  `.execute(db);
  // A fault that was over before it was due is not sent.
  await sql`
    delete from receiver.findings
    where channel <> all(${names}) or gone_at <= ${ago(settledMs)} and sent_status is null
      and gone_at < found_at + ${interval(afterMs)}`.execute(db);
}

async function findDue({ db, config }: Core, channel: string): Promise<Alert[]> {
  const { settledMs, afterMs, repeatMs } = config.alerts;
  const { rows } = await sql<Alert>`
    select * from (
      select name, about, status, title, case
        when gone_at is not null then case when gone_at <= ${ago(settledMs)} then 'resolved' end
        when sent_status is null then case when found_at <= ${ago(afterMs)} then 'new' end
        when sent_at <= ${ago(repeatMs)} then 'still'
        when (sent_status, status) = ('warn', 'fail') then 'worse'
      end as what
      from receiver.findings where channel = ${channel}
    ) f where what is not null order by status, name, about`.execute(db);
  return rows;
}

async function recordSent({ db }: Core, channel: string, alerts: readonly Alert[]): Promise<void> {
  for (const { what, name, about = '', status } of alerts) {
    const isFinding = sql<boolean>`(channel, name, about) = (${channel}, ${name}, ${about})`;
    const sent = { sent_status: status, sent_at: sql<Date>`now()` };
    if (what === 'resolved') await db.deleteFrom('receiver.findings').where(isFinding).execute();
    else await db.updateTable('receiver.findings').set(sent).where(isFinding).execute();
  }
}

/** @returns whether the channel has accepted it. @throws the signal's reason */
async function send({ log }: Core, channel: Channel, message: Message, signal: AbortSignal) {
  try {
    await channel.send(message, signal);
    return true;
  } catch (error) {
    signal.throwIfAborted();
    // Other errors could repeat the address, which is a secret.
    const reason = error instanceof NotSent ? error.message : 'unexpected error';
    log.limited('error', { channel: channel.name, reason }, 'an alert was not accepted; it is sent again');
    return false;
  }
}

function compose(alerts: readonly Alert[]): Message {
  const counts: string[] = [];
  const lines: string[] = [];
  for (const [what, heading] of Object.entries(headings)) {
    const own = alerts.filter((alert) => alert.what === what);
    if (own.length === 0) continue;
    counts.push(`${own.length} ${what}`);
    lines.push('', `${heading}:`, ...own.slice(0, maxLines).map(lineOf));
    if (own.length > maxLines) lines.push(`… and ${own.length - maxLines} more: receiver doctor`);
  }
  const title = `Webhook receiver: ${counts.join(', ')}`;
  return { title, text: [title, ...lines].join('\n') };
}

function lineOf(alert: Alert): string {
  const { what, status, check } = alert;
  const texts = [`• ${titleOf(alert)}`];
  if (what !== 'resolved' && check) {
    texts[0] += ` [${status}]`;
    if (check.detail) texts.push(check.detail);
    if (check.todo) texts.push(`What to do: ${check.todo}`);
  }
  return printable(texts.join('. ')).replaceAll('\n', ' ');
}

/** An outage of PostgreSQL cannot be recorded there: each process sends its own message, and another one after a restart. */
export function createOutageAlert(core: RunningCore): Task['run'] {
  const channels = openChannels(core.config.alerts);
  const sentTo = new Set<Channel>();
  let since: number | undefined;
  return async (signal) => {
    const { checks } = await readReadiness(core);
    // The circuit of a process without work may not have noticed it.
    const check = checks.find(({ name, status }) => name === 'database' && status === 'fail');
    since = check && (since ?? performance.now());
    const isDue = since !== undefined && performance.now() - since >= core.config.alerts.outageMs;
    for (const channel of channels) {
      if (sentTo.has(channel) ? since !== undefined : !isDue) continue;
      const what = isDue ? 'new' : 'resolved';
      const message = compose([{ what, name: 'database', status: 'fail', title: outageTitle, check }]);
      if (!(await send(core, channel, message, signal))) continue;
      if (isDue) sentTo.add(channel);
      else sentTo.delete(channel);
    }
  };
}
