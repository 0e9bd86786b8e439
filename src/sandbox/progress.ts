import { Presets, SingleBar } from 'cli-progress';
import type { Summary } from './tally.ts';

const intervalMs = 5_000;

/** Shows progress: a bar on a terminal if the length is known, else a line every five seconds. */
export function startProgress(out: NodeJS.WriteStream, count: number | undefined) {
  if (out.isTTY && count !== undefined) {
    const format = '{bar} {value}/{total} · {outcomes}';
    const bar = new SingleBar({ format, stream: out, hideCursor: true }, Presets.shades_classic);
    bar.start(count, 0, { outcomes: '' });
    let lastDrawn = 0;
    return {
      update: (soFar: () => Summary) => {
        // The bar is drawn ten times a second; summaries in between would be wasted.
        const now = performance.now();
        if (now - lastDrawn < 100) return;
        lastDrawn = now;
        const summary = soFar();
        bar.update(summary.callbacks, { outcomes: outcomesOf(summary) });
      },
      stop: (last: Summary) => {
        bar.update(last.callbacks, { outcomes: outcomesOf(last) });
        bar.stop();
      },
    };
  }
  let lastPrinted = performance.now();
  return {
    update: (soFar: () => Summary) => {
      if (performance.now() - lastPrinted < intervalMs) return;
      lastPrinted = performance.now();
      const summary = soFar();
      out.write(`${summary.callbacks} callbacks · ${outcomesOf(summary)}\n`);
    },
    stop: (_last: Summary) => {},
  };
}

/** `200 accepted 475, 422 5`, in descending order. */
export function outcomesOf({ outcomes }: Summary): string {
  return Object.entries(outcomes)
    .sort(([, a], [, b]) => b - a)
    .map(([outcome, count]) => `${outcome} ${count}`)
    .join(', ');
}
