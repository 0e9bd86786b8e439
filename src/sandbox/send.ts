import type { Command } from 'commander';
import { type CallbacksOptions, callbacks } from './callbacks.ts';
import type { Family } from './families.ts';
import { type Callback, history } from './history.ts';
import { type SendOptions, type Summary, sendCallbacks } from './sender.ts';
import { type Env, eventsUrl, registeredUrls } from './urls.ts';

/** The options of sending, as parsed by commander. */
export interface SendFlags
  extends Pick<CallbacksOptions, 'count' | 'duplicates' | 'lean' | 'invalid' | 'shuffle'>,
    Pick<SendOptions, 'connections' | 'rate' | 'resendOnFailure'> {
  readonly seed?: number;
  readonly families?: readonly Family[];
  /** A week of one clinic. */
  readonly history?: true;
  /** All events to the one path that takes every event. */
  readonly toEvents?: true;
  readonly sign?: string;
}

const day = 24 * 3_600_000;

/**
 * Sends a history to the receiver at `base`, and prints a summary.
 *
 * @param tell of each callback whether it is sent
 */
export async function send(
  command: Command,
  flags: SendFlags,
  base: string,
  env: Env,
  signal: AbortSignal,
  tell: (callback: Callback) => boolean = () => true,
): Promise<Summary> {
  const { seed = Math.floor(Math.random() * 2 ** 31), families } = flags;
  const now = Date.now();
  const morning = now - (now % day) + 3.5 * 3_600_000;
  const week = { start: morning - 7 * day, end: now, isReal: true, businessIds: [businessOf(seed)] };
  const busy = { start: morning - day, present: Date.now };
  const source = filtered(history({ seed, families, ...(flags.history ? week : busy) }), tell);
  const isAll = flags.history && command.getOptionValueSource('count') === 'default';
  const count = isAll ? undefined : flags.count || undefined;
  let lastShown = performance.now();
  const summary = await sendCallbacks(callbacks({ ...flags, seed, source, count }), {
    ...flags,
    urlOf: flags.toEvents ? eventsUrl(base, env) : registeredUrls(base, env),
    signingKey: flags.sign ?? (env.SIGNING_KEYS?.split(',')[0]?.trim() || undefined),
    signatureHeader: env.SIGNATURE_HEADER || undefined,
    signal,
    onAttempt: (_, soFar) => {
      if (performance.now() - lastShown < 5_000) return;
      lastShown = performance.now();
      const { callbacks, outcomes } = soFar();
      process.stderr.write(`${callbacks} callbacks · ${outcomesOf(outcomes)}\n`);
    },
  });
  command.configureOutput().writeOut?.(report(summary, seed));
  return summary;
}

/** So that a week of another seed is that of another clinic, and the same week has the same records. */
const businessOf = (seed: number) => `6${String(seed).padStart(14, '0')}`;

function* filtered(source: Iterable<Callback>, isSent: (callback: Callback) => boolean) {
  for (const callback of source) if (isSent(callback)) yield callback;
}

function report(
  { callbacks: sent, acknowledged, resends, seconds, latencyMs, outcomes }: Summary,
  seed: number,
) {
  return [
    `sent     ${sent} callbacks in ${seconds.toFixed(1)} s (${Math.round(sent / seconds)}/s), ${acknowledged} acknowledged, ${resends} resent`,
    `outcomes ${outcomesOf(outcomes) || 'none'}`,
    `latency  p50 ${latencyMs.p50} ms · p99 ${latencyMs.p99} ms · max ${latencyMs.max} ms`,
    `seed     ${seed}\n`,
  ].join('\n');
}

/** `200 accepted 475, 422 5`, in descending order. */
const outcomesOf = (outcomes: Summary['outcomes']) =>
  Object.entries(outcomes)
    .sort(([, a], [, b]) => b - a)
    .map(([outcome, count]) => `${outcome} ${count}`)
    .join(', ');
