/** The parameters of a load. */
export interface LoadOrder {
  url: string;
  path: string;
  connections: number;
  /** Seconds that are measured. */
  seconds: number;
  /** Seconds before them that are not measured. */
  warmup: number;
  /** Requests per second, evenly spaced; undefined: as many as possible. */
  rate: number | undefined;
  /** The responses per second that an earlier load reached; undefined: not known. */
  expected?: number | undefined;
  /** Each seed makes different receipts. */
  seed: number;
  /** Time of the first event, milliseconds since 1970; default: that of the sandbox's history. */
  start?: number;
  /** The key that signs the callbacks. */
  signingKey: string | undefined;
}

/** The results of a load. */
export interface LoadFigures {
  /** 2xx responses per second, measured part. */
  perSecond: number;
  p50: number;
  p99: number;
  /** All 2xx responses, warm-up included. */
  acknowledged: number;
  rejected: number;
  /** From the first request to the last response, warm-up included. */
  seconds: number;
  /** Share of a core that the load used. */
  cpu: number;
  /** CPU seconds of the load's process, generation of the requests included. */
  cpuSeconds: number;
  /** When the first request was sent, milliseconds since 1970. */
  began: number;
}
