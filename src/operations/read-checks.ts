import { withTimeout } from '../common/timeouts.ts';
import type { Check, Core, RunningCore } from '../receiver/feature.ts';
import { describeError } from '../receiver/store/errors.ts';
import { readReadiness } from './process-checks.ts';

const timeoutMs = 30_000;
const urgency = { fail: 0, warn: 1, ok: 2 };

export const unreadable = 'unreadable';

/** All checks of this process and of all features, the most urgent first. It never throws. */
export async function readChecks(core: RunningCore): Promise<Check[]> {
  const { checks: list } = await readReadiness(core);
  if (list.some(({ name, status }) => name === 'database' && status === 'fail')) list.push(others);
  else
    for (const { name, checks } of core.features)
      if (checks) list.push(...(await guard(core, name, () => checks(core))));
  return list.toSorted((a, b) => urgency[a.status] - urgency[b.status]);
}

const others: Check = {
  name: unreadable,
  about: 'database',
  status: 'fail',
  title: 'The other checks could not be read',
  detail: 'They need PostgreSQL',
  todo: 'See the check database',
};

export const titleOf = ({ title, about }: { title: string; about?: string | undefined }): string =>
  about && !title.includes(about) ? `${title} (${about})` : title;

/** A check that cannot be read fails. */
export async function guard(core: Core, name: string, read: () => Promise<Check[]>): Promise<Check[]> {
  try {
    return await withTimeout(timeoutMs, read());
  } catch (err) {
    core.log.limited('warn', { check: name }, 'a check could not be read', { err });
    const title = `The check ${name} could not be read`;
    const todo =
      'See the log: PostgreSQL may be overloaded, or a right or a table is missing (receiver migrate)';
    return [{ name: unreadable, about: name, status: 'fail', title, detail: describeError(err), todo }];
  }
}
