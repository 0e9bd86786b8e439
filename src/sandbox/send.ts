import { appendFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Command } from 'commander';
import { type Callback, eventTimeMs, type HistoryOptions } from './history.ts';
import type { Attempt } from './post.ts';
import { callbacksOf, outcomesOf, type Progress, startProgress } from './progress.ts';
import type { SendFlags } from './send-options.ts';
import { sendCallbacks, sleep } from './sender.ts';
import type { Summary } from './tally.ts';
import { type Env, eventsUrl, registeredUrls } from './urls.ts';
import { callbacks } from './variations.ts';

export interface SendDetails {
  readonly socketPath?: string | undefined;
  /** Default: the history. */
  readonly sourceOf?: ((options: HistoryOptions) => Iterable<Callback>) | undefined;
  /** Options that make the same callbacks, besides seed and start. */
  readonly repeat?: string;
  /** Default: callbacks of `count`. */
  readonly progress?: Progress;
}

/**
 * Sends a history, or other callbacks, to the receiver at `base`, by its socket file if it has one, and prints a summary.
 * Ends the command with exit code 73 if the ledger cannot be opened.
 */
export async function send(
  command: Command,
  flags: SendFlags,
  base: string,
  env: Env,
  signal: AbortSignal,
  { socketPath, sourceOf, repeat = '', progress = callbacksOf(flags.count) }: SendDetails = {},
): Promise<Summary> {
  const { seed = Math.floor(Math.random() * 2 ** 31), start = yesterdayMorning(Date.now()) } = flags;
  const count = flags.count || undefined;
  const cannotWrite = (error: NodeJS.ErrnoException) => {
    // 73: EX_CANTCREAT
    command.error(`${command.name()}: cannot write the ledger ${error.path} (${error.code})`, {
      exitCode: 73,
    });
  };
  const ledger = flags.ledger === undefined ? undefined : await openLedger(flags.ledger).catch(cannotWrite);
  const shown = startProgress(process.stderr, progress);
  try {
    // A start in the future is a wish.
    const present = start < Date.now() ? Date.now : undefined;
    const options = { ...flags, seed, start, count, present };
    const sequence = callbacks({ ...options, source: sourceOf?.(options) });
    const summary = await sendCallbacks(present ? afterTheirEvents(sequence, signal) : sequence, {
      ...flags,
      urlOf: flags.to === 'events' ? eventsUrl(base, env) : registeredUrls(base, env),
      signingKey: flags.sign ?? (env.SIGNING_KEYS?.split(',')[0]?.trim() || undefined),
      signatureHeader: env.SIGNATURE_HEADER || undefined,
      signal,
      socketPath,
      onAttempt: (attempt, soFar) => {
        shown.update(attempt, soFar);
        ledger?.record(attempt);
      },
    });
    shown.stop(summary);
    command
      .configureOutput()
      .writeOut?.(report(summary, `${repeat}--seed ${seed} --start ${new Date(start).toISOString()}`));
    return summary;
  } finally {
    await ledger?.close();
  }
}

/** Waits with each callback until its event has happened: the clock of a history is ahead by some of its milliseconds. */
async function* afterTheirEvents(sequence: Iterable<Callback>, signal: AbortSignal) {
  for (const callback of sequence) {
    const time = eventTimeMs(callback.envelope);
    // A timer may fire a little early.
    while (time > Date.now() && !signal.aborted) await sleep(time - Date.now(), signal);
    if (time > Date.now()) return;
    yield callback;
  }
}

function report(summary: Summary, repeat: string): string {
  const { callbacks: sent, acknowledged, resends, seconds, latencyMs } = summary;
  const perSecond = Math.round(sent / seconds);
  return [
    `sent     ${sent} callbacks in ${seconds.toFixed(1)} s (${perSecond}/s), ${acknowledged} acknowledged, ${resends} resent`,
    `outcomes ${outcomesOf(summary) || 'none'}`,
    `latency  p50 ${latencyMs.p50} ms · p95 ${latencyMs.p95} ms · p99 ${latencyMs.p99} ms · max ${latencyMs.max} ms`,
    `repeat   ${repeat}\n`,
  ].join('\n');
}

function yesterdayMorning(now: number): number {
  const day = 24 * 3_600_000;
  return now - (now % day) - day + 3.5 * 3_600_000;
}

/** Opens a file for one JSON line per acknowledged delivery, and empties it. Raises the error of node:fs. */
export async function openLedger(path: string) {
  const file = await open(path, 'w');
  return {
    /** Writes `{"id","event","business_id","status"}` if the attempt was acknowledged. */
    record({ acknowledged, callback, id, state }: Attempt): void {
      if (!acknowledged) return;
      const { event, businessId: business_id } = callback;
      const line = JSON.stringify({ id: id ?? null, event, business_id, status: state ?? null });
      appendFileSync(file.fd, `${line}\n`);
    },
    /** Flushes to the disk (fsync) and closes. */
    async close(): Promise<void> {
      await file.sync();
      await file.close();
    },
  };
}
