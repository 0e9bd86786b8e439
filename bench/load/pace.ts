/** When the next request is due, milliseconds of `performance.now()`; undefined when there is none. */
export type Pace = () => number | undefined;

/** As soon as the previous response arrives, until the end. */
export function unbounded(end: number): Pace {
  return () => {
    const now = performance.now();
    return now < end ? now : undefined;
  };
}

/**
 * Evenly spaced over all connections, whether or not earlier responses have arrived. (autocannon's own rate is
 * a burst at the start of each second, which measures full load.)
 */
export function evenly(begin: number, end: number, rate: number): Pace {
  let sent = 0;
  return () => {
    const due = begin + (sent * 1000) / rate;
    sent += 1;
    return due < end ? due : undefined;
  };
}
