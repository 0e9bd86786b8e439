import cliProgress from 'cli-progress';

const lineEveryMs = 2_000;

/**
 * Shows progress, such as `replayed`: a bar on a terminal, otherwise a line every two seconds.
 *
 * @param total undefined: not known
 */
export function startProgress(total: number | undefined, verb: string) {
  const of = total === undefined ? '' : `/${total}`;
  if (process.stderr.isTTY) {
    const format = `${total === undefined ? '' : '{bar} '}{value}${of} ${verb}`;
    const bar = new cliProgress.SingleBar({ format }, cliProgress.Presets.rect);
    bar.start(total ?? 0, 0);
    return { advance: (by = 1) => bar.increment(by), stop: () => bar.stop() };
  }
  let value = 0;
  let last = performance.now();
  return {
    advance: (by = 1) => {
      value += by;
      if (performance.now() - last < lineEveryMs) return;
      last = performance.now();
      process.stderr.write(`${value}${of} ${verb}\n`);
    },
    stop: () => {},
  };
}
