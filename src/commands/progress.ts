import cliProgress from 'cli-progress';

const lineEveryMs = 2_000;

/** Shows the progress of a replay: a bar on a terminal, otherwise a line every two seconds. */
export function startProgress(total: number) {
  if (process.stderr.isTTY) {
    const format = '{bar} {value}/{total} replayed';
    const bar = new cliProgress.SingleBar({ format }, cliProgress.Presets.rect);
    bar.start(total, 0);
    return { advance: (by = 1) => bar.increment(by), stop: () => bar.stop() };
  }
  let done = 0;
  let last = performance.now();
  return {
    advance: (by = 1) => {
      done += by;
      if (performance.now() - last < lineEveryMs) return;
      last = performance.now();
      process.stderr.write(`${done}/${total} replayed\n`);
    },
    stop: () => {},
  };
}
