import cliProgress from 'cli-progress';

export interface Progress {
  advance: (by?: number) => void;
  stop: () => void;
}

const lineEveryMs = 2_000;

/** Shows the progress of a long command: a bar on a terminal, otherwise a line every two seconds. */
export function startProgress(what: string, total: number): Progress {
  if (process.stderr.isTTY) {
    const bar = new cliProgress.SingleBar(
      { format: `{bar} {value}/{total} ${what}` },
      cliProgress.Presets.rect,
    );
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
      process.stderr.write(`${done}/${total} ${what}\n`);
    },
    stop: () => {},
  };
}
