import type { Family } from './history.ts';
import { type Ledger, openLedger } from './ledger.ts';
import { outcomesOf, startProgress } from './progress.ts';
import type { SendFlags } from './send-options.ts';
import { sendCallbacks } from './sender.ts';
import type { Summary } from './tally.ts';
import { callbacks } from './variations.ts';

export interface SendRun {
  readonly flags: Omit<SendFlags, 'url'>;
  readonly urls: Record<Family, string>;
  readonly signingKey: string | undefined;
  readonly signatureHeader: string | undefined;
  readonly signal: AbortSignal;
  /** Where progress is printed. */
  readonly progress: NodeJS.WriteStream;
  readonly print: (text: string) => void;
}

/** Sends a history and prints a summary. Raises the error of node:fs if the ledger cannot be written. */
export async function send(run: SendRun): Promise<Summary> {
  const { flags, urls, signingKey, signatureHeader, signal, print } = run;
  const seed = flags.seed ?? Math.floor(Math.random() * 2 ** 31);
  const start = flags.start ?? yesterdayMorning(Date.now());
  const count = flags.count === 0 ? undefined : flags.count;
  const { duplicates, invalid, shuffle = false, rate, connections, maxAttempts } = flags;
  const sequence = callbacks({ seed, start, duplicates, invalid, shuffle, ...(count ? { count } : {}) });

  const ledger: Ledger | undefined = flags.ledger === undefined ? undefined : await openLedger(flags.ledger);
  const progress = startProgress(run.progress, count);
  try {
    const summary = await sendCallbacks(sequence, {
      urls,
      signingKey,
      signatureHeader,
      connections,
      rate,
      resendOnFailure: flags.resendOnFailure ?? false,
      maxAttempts,
      signal,
      onAttempt: async (attempt, soFar) => {
        progress.update(soFar);
        await ledger?.record(attempt);
      },
    });
    progress.stop(summary);
    print(report(summary, seed, start));
    return summary;
  } finally {
    await ledger?.close();
  }
}

function report(summary: Summary, seed: number, start: number): string {
  const { callbacks: sent, acknowledged, resends, seconds, latencyMs } = summary;
  const perSecond = Math.round(sent / seconds);
  return [
    `sent     ${sent} callbacks in ${seconds.toFixed(1)} s (${perSecond}/s), ${acknowledged} acknowledged, ${resends} resent`,
    `outcomes ${outcomesOf(summary) || 'none'}`,
    `latency  p50 ${latencyMs.p50} ms · p95 ${latencyMs.p95} ms · p99 ${latencyMs.p99} ms · max ${latencyMs.max} ms`,
    `repeat   --seed ${seed} --start ${new Date(start).toISOString()}`,
  ].join('\n');
}

function yesterdayMorning(now: number): number {
  const day = 24 * 3_600_000;
  return now - (now % day) - day + 3.5 * 3_600_000;
}
