import { sql } from 'kysely';
import { printable } from '../common/terminal.ts';
import type { Check, Core } from '../receiver/feature.ts';
import { type Channel, type Message, NotSent, openChannels } from './channels.ts';
import { readReadiness } from './process-checks.ts';
import { readChecks, unreadable } from './read-checks.ts';

/**
 * In milliseconds: how long something must be wrong, and an outage of PostgreSQL, before it is told; how long it must be ok
 * before its end is told; and the time between two reminders.
 */
export const defaultDelays = {
  afterMs: 50_000,
  outageMs: 120_000,
  settledMs: 300_000,
  repeatMs: 86_400_000,
};
export type Delays = typeof defaultDelays;

const maxLines = 20;
const outage = 'PostgreSQL takes no callbacks';

/** A check that is to be told. */
interface Due extends Record<'name' | 'subject' | 'title', string> {
  what: 'new' | 'worse' | 'still' | 'resolved';
  status: 'warn' | 'fail';
}

const keyOf = ({ name, subject = '' }: Pick<Check, 'name' | 'subject'>) => JSON.stringify([name, subject]);

/**
 * Tells the channels of ALERT_WEBHOOK_URL and ALERT_EMAIL_TO what is wrong, once, then daily, and its end: one message for
 * all. What a channel was told is recorded after it has accepted it, so a crash in between repeats a message and loses none.
 *
 * @throws the database's error
 */
export async function tellFindings(core: Core, delays: Delays, signal: AbortSignal): Promise<void> {
  const channels = openChannels(core.config.alerts);
  // An outage of PostgreSQL is told by each process, see createTellOutage.
  const wrong = (await readChecks(core)).filter(({ name, status }) => status !== 'ok' && name !== 'database');
  signal.throwIfAborted();
  await recordFindings(core, channels, wrong, delays);
  const checks = new Map(wrong.map((check) => [keyOf(check), check]));
  for (const channel of channels) {
    const due = await findDue(core, channel.name, delays);
    if (due.length === 0) continue;
    const message = compose(due.map((one) => ({ ...one, check: checks.get(keyOf(one)) })));
    if (await send(core, channel, message, signal)) await recordTold(core, channel.name, due);
  }
}

async function recordFindings({ db, config }: Core, to: Channel[], wrong: Check[], delays: Delays) {
  const channels = to.map(({ name }) => name);
  // What could not be read may still be wrong. A worker has no access checks.
  const isComplete = !wrong.some(({ name }) => name === unreadable);
  const unknown = config.role === 'worker' ? 'access' : '';
  await sql`
    with given as (
      select distinct on (name, subject) name, coalesce(subject, '') as subject, status, title
      from jsonb_to_recordset(${JSON.stringify(wrong)}::jsonb) as g(name text, subject text, status text, title text)
    ), gone as (
      update receiver.findings f set gone_at = coalesce(gone_at, now())
      where (${isComplete} or name = ${unreadable}) and name <> ${unknown}
        and not exists (select from given g where (g.name, g.subject) = (f.name, f.subject))
    )
    insert into receiver.findings as f (channel, name, subject, status, title)
    select channel, given.* from given cross join unnest(${channels}::text[]) channel
    on conflict (channel, name, subject) do update set status = excluded.status, title = excluded.title, gone_at = null
  `.execute(db);
  // What was over before it was due is not told.
  await sql`
    delete from receiver.findings
    where channel <> all(${channels}) or gone_at <= ${ago(delays.settledMs)} and told is null
      and gone_at < found_at + ${interval(delays.afterMs)}`.execute(db);
}

const interval = (ms: number) => sql`${ms}::float8 * interval '1 millisecond'`;
const ago = (ms: number) => sql`now() - ${interval(ms)}`;

async function findDue({ db }: Core, channel: string, delays: Delays): Promise<Due[]> {
  const { rows } = await sql<Due>`
    select name, subject, status, title,
      case when gone_at is not null then 'resolved' when told is null then 'new' when told_at > ${ago(delays.repeatMs)} then 'worse' else 'still' end as what
    from receiver.findings
    where channel = ${channel} and case
      when gone_at is not null then gone_at <= ${ago(delays.settledMs)}
      when told is null then found_at <= ${ago(delays.afterMs)}
      else told_at <= ${ago(delays.repeatMs)} or (told, status) = ('warn', 'fail')
    end
    order by status, name, subject`.execute(db);
  return rows;
}

async function recordTold({ db }: Core, channel: string, due: readonly Due[]): Promise<void> {
  const given = JSON.stringify(due);
  await sql`
    with told as (select * from jsonb_to_recordset(${given}::jsonb) as g(name text, subject text, status text, what text)),
    over as (
      delete from receiver.findings f using told t
      where f.channel = ${channel} and (f.name, f.subject) = (t.name, t.subject) and t.what = 'resolved'
    )
    update receiver.findings f set told = t.status, told_at = now() from told t
    where f.channel = ${channel} and (f.name, f.subject) = (t.name, t.subject) and t.what <> 'resolved'`.execute(
    db,
  );
}

/** @returns whether the channel has accepted it; what it has not is told again. @throws the signal's reason */
async function send({ log }: Core, channel: Channel, message: Message, signal: AbortSignal) {
  try {
    const partly = await channel.send(message, signal);
    if (partly)
      log.warn({ channel: channel.name, reason: partly.message }, 'an alert did not reach everybody');
    return true;
  } catch (error) {
    signal.throwIfAborted();
    // Other errors could repeat the address, which is a secret.
    const reason = error instanceof NotSent ? error.message : 'unexpected error';
    log.limited(
      'error',
      { channel: channel.name, reason },
      'an alert was not accepted; it is sent again',
      {},
    );
    return false;
  }
}

const headings = { new: 'New', worse: 'Worse', still: 'Still there', resolved: 'Resolved' };

/** One message about all that is due. */
function compose(due: readonly (Due & { check?: Check | undefined })[]): Message {
  const parts = Object.entries(headings).flatMap(([what, heading]) => {
    const lines = due.filter((one) => one.what === what).map(lineOf);
    if (lines.length === 0) return [];
    const more = lines.length > maxLines ? [`… and ${lines.length - maxLines} more: receiver doctor`] : [];
    return [
      { title: `${lines.length} ${what}`, lines: ['', `${heading}:`, ...lines.slice(0, maxLines), ...more] },
    ];
  });
  const title = `Webhook receiver: ${parts.map((part) => part.title).join(', ')}`;
  return { title, text: [title, ...parts.flatMap(({ lines }) => lines)].join('\n') };
}

function lineOf({ what, status, title, subject, check }: Due & { check?: Check | undefined }): string {
  const about = subject && !title.includes(subject) ? ` (${subject})` : '';
  const isOver = what === 'resolved' || !check;
  const texts = isOver ? [] : [check.detail, check.todo && `What to do: ${check.todo}`].filter(Boolean);
  const line = [`• ${title}${about}${isOver ? '' : ` [${status}]`}`, ...texts].join('. ');
  return printable(line).replaceAll('\n', ' ');
}

/**
 * Creates the function that tells the channels of an outage of PostgreSQL, which cannot be recorded there: each process sends
 * its own message, and another one after a restart.
 */
export function createTellOutage(core: Core, delays: Delays) {
  const channels = openChannels(core.config.alerts);
  const told = new Set<Channel>();
  let since: number | undefined;
  return async (signal: AbortSignal): Promise<void> => {
    const { checks } = await readReadiness(core, core.process!);
    const check = checks.find(({ name }) => name === 'database')!;
    // The circuit of a process without work may not have noticed it.
    since = check.status === 'ok' ? undefined : (since ?? performance.now());
    const isLong = since !== undefined && performance.now() - since >= delays.outageMs;
    for (const channel of channels) {
      if (told.has(channel) ? since !== undefined : !isLong) continue;
      const what = isLong ? 'new' : 'resolved';
      const one = { what, name: 'database', subject: '', status: 'fail', title: outage, check } as const;
      if (!(await send(core, channel, compose([one]), signal))) continue;
      if (isLong) told.add(channel);
      else told.delete(channel);
    }
  };
}
