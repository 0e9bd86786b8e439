import { type Config, takesCallbacks } from '../common/config/config.ts';
import { withTimeout } from '../common/timeouts.ts';
import type { Check, RunningCore } from '../receiver/feature.ts';
import { configuredChecks } from '../receiver/http/access.ts';
import type { FallbackState } from '../receiver/queue/durability.ts';
import { type Fallback, isAway } from '../receiver/queue/fallback.ts';
import type { ReceiverState } from '../receiver/receiver.ts';
import { describeError } from '../receiver/store/errors.ts';

export interface Readiness {
  ready: boolean;
  checks: Check[];
}

const maxClockDifferenceS = 60;
/** A callback that is longer in Redis is not just about to be drained. */
const maxDrainMs = 60_000;
export const outageTitle = 'PostgreSQL takes no callbacks';

const ok = (title: string, detail = '') => ({ status: 'ok', title, detail }) as const;
const fault = (status: 'warn' | 'fail', title: string, detail: string, todo: string, since?: Date) =>
  ({ status, title, detail, todo, since }) as const;

/** The checks of this process, which need no tables: in an outage of a store there are no others. */
export async function readReadiness({ config, process: state }: RunningCore): Promise<Readiness> {
  const { circuit, queue } = state;
  const fallback = config.redisFallback === 'off' ? undefined : state.fallback;
  const { readinessMs } = config.times;
  const [takes, kept] = await Promise.all([
    withTimeout(readinessMs, circuit.check()).catch(() => false),
    fallback?.check(),
  ]);
  const spills = kept?.acknowledges === true;
  const checks = {
    database: checkDatabase(takes, spills, state),
    queue: queue && checkQueue(queue.isAvailable, takes),
    fallback: kept && checkFallback(kept),
    drain: fallback && takes && kept !== isAway && (await checkDrain(fallback, readinessMs)),
    clock: await checkClock(state),
    access: takesCallbacks(config) && checkAccess(config, state),
  };
  const list = Object.entries(checks).flatMap(([name, check]) => (check ? [{ name, ...check }] : []));
  return { ready: takes || spills, checks: list };
}

function checkDatabase(takes: boolean, spills: boolean, { circuit }: ReceiverState) {
  if (takes) return ok('PostgreSQL takes callbacks');
  const consequence = spills
    ? 'Callbacks are kept in Redis until then, and applied afterwards'
    : 'Callbacks get a 503, and the sender has to send them again';
  const error = circuit.lastError();
  const detail = `${consequence}${error ? `. The error: ${describeError(error)}` : ''}`;
  const todo = `See whether PostgreSQL runs and has space, and run receiver doctor${spills ? '. Do not wipe Redis' : ''}`;
  return fault('fail', outageTitle, detail, todo, circuit.unavailableSince);
}

function checkQueue(isAvailable: boolean, takes: boolean) {
  if (isAvailable) return ok('Redis tells the workers what comes in');
  const detail = takes ? 'Callbacks are stored, and applied some seconds later' : 'No store is left';
  const todo = 'See whether Redis runs, and whether REDIS_URL is right';
  return fault('fail', 'Redis is unavailable', detail, todo);
}

function checkFallback({ acknowledges, detail, todo }: FallbackState) {
  if (acknowledges) return ok('Redis keeps callbacks while PostgreSQL is unavailable', detail);
  const title = 'Redis would keep no callbacks in an outage of PostgreSQL: they would get a 503';
  return fault('warn', title, detail, todo || 'See whether Redis runs');
}

async function checkDrain(fallback: Fallback, timeoutMs: number) {
  const waiting = await withTimeout(timeoutMs, fallback.waiting()).catch(() => undefined);
  if (!waiting)
    return fault('fail', 'Whether callbacks wait in Redis is not known', '', 'See whether Redis runs');
  const { count, oldest } = waiting;
  if (!oldest || Date.now() - oldest.getTime() < maxDrainMs) return ok('No callback stays in Redis');
  const detail = `${count} wait, although PostgreSQL is available`;
  const todo =
    'Start a worker (ROLE=all or worker) of this version; the log of one that runs says why. Do not wipe Redis';
  return fault('fail', 'Callbacks in Redis are not moved into PostgreSQL', detail, todo, oldest);
}

async function checkClock({ clock }: ReceiverState) {
  await clock.refresh();
  const seconds = Math.round(((clock.now() ?? Number.NaN) - Date.now()) / 1000);
  if (Math.abs(seconds) <= maxClockDifferenceS) return ok('The clock of this process is that of PostgreSQL');
  if (Number.isNaN(seconds))
    return fault('warn', 'The clock of PostgreSQL is not known', '', 'See the check database');
  const title = 'The clocks of this process and of PostgreSQL differ';
  const detail = `PostgreSQL's is ${Math.abs(seconds)} s ${seconds > 0 ? 'ahead' : 'behind'}: signed callbacks may be refused`;
  return fault('fail', title, detail, 'Synchronize both, as with chrony');
}

function checkAccess(config: Config, { access }: ReceiverState) {
  const { allowedIps, allowUnauthenticated, trustProxy } = config.authentication;
  const checks = configuredChecks(config);
  // The lists of clients and businesses are filters, no authentication.
  if (!checks.some((check) => ['signature', 'address list', 'unguessable paths'].includes(check))) {
    const detail = allowUnauthenticated ? 'ALLOW_UNAUTHENTICATED is true' : 'No access check is configured';
    const todo = 'Set SIGNING_KEYS or ALLOWED_IPS, or an unguessable EVENTS_PATH with NODE_ENV=production';
    return fault('warn', 'Anybody can send callbacks', detail, todo);
  }
  const isLocal = /^(127\.|::1$|localhost$)/.test(config.host);
  const isUncounted = allowedIps.length > 0 && trustProxy === 0 && isLocal;
  const warning =
    access?.warning() ??
    (isUncounted && `Only a proxy on this machine reaches HOST ${config.host}, and TRUST_PROXY is 0`);
  if (!warning) return ok('Senders are checked', checks.join(', '));
  const title = 'The access checks may not do what they should';
  return fault('warn', title, warning, 'Set TRUST_PROXY to the number of proxies in front');
}
