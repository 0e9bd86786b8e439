import { Presets, SingleBar } from 'cli-progress';
import type { Attempt } from './post.ts';
import type { Summary } from './tally.ts';

export interface Progress {
  /** Undefined: endless. */
  readonly total: number | undefined;
  readonly unit: string;
  readonly done: (attempt: Attempt, summary: Summary) => number;
}

/** Progress by the number of callbacks; 0: endless. */
export const callbacksOf = (count: number | undefined): Progress => ({
  total: count || undefined,
  unit: 'callbacks',
  done: (_, { callbacks }) => callbacks,
});

/** Shows progress: a bar on a terminal if there is an end, else a line every five seconds. */
export function startProgress(out: NodeJS.WriteStream, { total, unit, done }: Progress) {
  const format = `{bar} {value}/{total} ${unit} · {outcomes}`;
  const bar =
    out.isTTY && total !== undefined
      ? new SingleBar({ format, stream: out, hideCursor: true }, Presets.shades_classic)
      : undefined;
  bar?.start(total!, 0, { outcomes: '' });
  // The bar is drawn ten times a second; summaries in between would be wasted.
  const intervalMs = bar ? 100 : 5_000;
  let lastShown = performance.now();

  return {
    update(attempt: Attempt, soFar: () => Summary): void {
      if (performance.now() - lastShown < intervalMs) return;
      lastShown = performance.now();
      const summary = soFar();
      const value = done(attempt, summary);
      const outcomes = outcomesOf(summary);
      if (bar) bar.update(value, { outcomes });
      else out.write(`${value}${total === undefined ? '' : `/${total}`} ${unit} · ${outcomes}\n`);
    },
    stop(last: Summary): void {
      bar?.update(total!, { outcomes: outcomesOf(last) });
      bar?.stop();
    },
  };
}

/** `200 accepted 475, 422 5`, in descending order. */
export function outcomesOf({ outcomes }: Summary): string {
  return Object.entries(outcomes)
    .sort(([, a], [, b]) => b - a)
    .map(([outcome, count]) => `${outcome} ${count}`)
    .join(', ');
}
