import type { Level, Logger } from 'pino';

/** Fields that tell a line from others of its message, such as a reason and a family. They have few values, and none is chosen by a sender. */
type Kind = Record<string, string | number | undefined>;

interface Lines {
  level: Level;
  message: string;
  kind: Kind;
  /** When the last one occurred. */
  at: number;
  /** Those that were counted since the last summary. */
  count: number;
}

const summaryMs = 60_000;
const repeatMs = 1_000;
const maxKinds = 500;

export function limitedLines() {
  const known = new Map<string, Lines>();
  let repeatedAt = Number.NEGATIVE_INFINITY;
  let summary: NodeJS.Timeout | undefined;

  const linesOf = (level: Level, message: string, kind: Kind): [lines: Lines, isNew: boolean] => {
    const key = JSON.stringify([level, message, kind]);
    const lines = known.get(key);
    if (lines) return [lines, false];
    // A message with too many kinds is counted as a whole.
    if (known.size >= maxKinds && Object.keys(kind).length > 0) return linesOf(level, message, {});
    const added = { level, message, kind, at: 0, count: 0 };
    known.set(key, added);
    return [added, true];
  };

  function writeCounts(this: Logger): void {
    clearTimeout(summary);
    summary = undefined;
    const counted = [...known.values()].filter(({ count }) => count > 0);
    if (counted.length === 0) return;
    const severest = counted.reduce((one, other) =>
      this.levels.values[other.level]! > this.levels.values[one.level]! ? other : one,
    );
    const counts = counted.map(({ message, kind, count }) => ({ message, ...kind, count }));
    for (const lines of counted) lines.count = 0;
    this[severest.level]({ counts }, 'more of the same since the last line');
  }

  return {
    /**
     * Writes a line about something that a sender, or anybody, can cause: the first of its kind in full, and those after it
     * as counts, in one line a minute for all kinds. A kind that was silent for a minute is written in full again, unless
     * another one was within the last second.
     *
     * @param details of the full line, besides its kind
     * @param count how many times it happened
     */
    limited(this: Logger, level: Level, kind: Kind, message: string, details: object = {}, count = 1): void {
      if (!this.isLevelEnabled(level)) return;
      const now = performance.now();
      const [lines, isNew] = linesOf(level, message, kind);
      const isBack = lines.count === 0 && now - lines.at >= summaryMs && now - repeatedAt >= repeatMs;
      lines.at = now;
      if (isNew || isBack) {
        if (isBack) repeatedAt = now;
        this[level]({ ...kind, ...details }, message);
        return;
      }
      lines.count += count;
      summary ??= setTimeout(() => writeCounts.call(this), summaryMs).unref();
    },
    writeCounts,
  };
}
