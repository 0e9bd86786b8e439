/** Watches how fast bytes arrive. */
export interface Rate {
  /** While the receiver does not read. */
  pause: () => void;
  resume: () => void;
  end: () => void;
}

/** Longer than a lost packet delays a sender. */
const periodS = 2;

/**
 * Requires that bytes arrive at a rate, in each period of two seconds.
 *
 * @param count how many have arrived
 * @param onTooSlow called once at most
 */
export function watchRate(leastBytesPerS: number, count: () => number, onTooSlow: () => void): Rate {
  let before = count();
  let isPaused = false;
  let isEnded = false;
  const timer = setInterval(() => {
    const enough = before + periodS * leastBytesPerS;
    // What arrived while the process was busy is read first.
    setImmediate(() => {
      if (isPaused || isEnded) return;
      if (count() < enough) {
        end();
        onTooSlow();
      }
      before = count();
    });
  }, periodS * 1000);
  const end = () => {
    isEnded = true;
    clearInterval(timer);
  };
  return {
    pause: () => {
      isPaused = true;
    },
    resume: () => {
      isPaused = false;
      before = count();
      timer.refresh();
    },
    end,
  };
}
