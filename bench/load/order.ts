/** What a load is to do. */
export interface LoadOrder {
  url: string;
  path: string;
  connections: number;
  /** Of the measured part. */
  seconds: number;
  /** Seconds before it that are not measured. */
  warmup: number;
  /** Requests a second, evenly spaced; undefined: as many as are answered. */
  rate: number | undefined;
  /** Every seed is another set of receipts. */
  seed: number;
  /** Key to sign the callbacks with. */
  signingKey: string | undefined;
}

/** What came of it. */
export interface LoadFigures {
  /** 2xx answers a second of the measured part. */
  perSecond: number;
  p50: number;
  p99: number;
  max: number;
  /** All 2xx answers, the warm-up's included. */
  acknowledged: number;
  refused: number;
  errors: number;
  /** From the first request to the last answer, the warm-up included. */
  seconds: number;
  /** Share of one core that the load itself used. */
  cpu: number;
  /** CPU seconds of the load's process in all, making the requests included. */
  cpuSeconds: number;
  /** When the first request was sent, milliseconds since 1970. */
  began: number;
}
