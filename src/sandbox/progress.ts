import { Presets, SingleBar } from 'cli-progress';
import type { Summary } from './tally.ts';

/** Shows progress: a bar on a terminal if the length is known, else a line every five seconds. */
export function startProgress(out: NodeJS.WriteStream, count: number | undefined) {
  const format = '{bar} {value}/{total} · {outcomes}';
  const bar =
    out.isTTY && count !== undefined
      ? new SingleBar({ format, stream: out, hideCursor: true }, Presets.shades_classic)
      : undefined;
  bar?.start(count!, 0, { outcomes: '' });
  // The bar is drawn ten times a second; summaries in between would be wasted.
  const intervalMs = bar ? 100 : 5_000;
  let lastShown = performance.now();

  function show(summary: Summary): void {
    const outcomes = outcomesOf(summary);
    if (bar) bar.update(summary.callbacks, { outcomes });
    else out.write(`${summary.callbacks} callbacks · ${outcomes}\n`);
  }
  return {
    update(soFar: () => Summary): void {
      if (performance.now() - lastShown < intervalMs) return;
      lastShown = performance.now();
      show(soFar());
    },
    stop(last: Summary): void {
      if (bar) show(last);
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
