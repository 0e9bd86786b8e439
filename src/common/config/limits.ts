// Limits and times that no variable sets; they are part of Config, so that a test can choose others.

export type Times = typeof times;
export type Limits = typeof limits;

/** In milliseconds. */
export const alertTimes = {
  /** How long a fault must last before it is sent, and an outage of PostgreSQL. */
  afterMs: 50_000,
  outageMs: 120_000,
  /** How long a fault must be over before its end is sent. */
  settledMs: 300_000,
  repeatMs: 86_400_000,
};

/** In milliseconds. */
export const times = {
  /** Limit of a commit, a connection and a probe of PostgreSQL: what takes longer is an outage. */
  databaseMs: 10_000,
  /** Limit of a commit in Redis. A request waits for both stores at most. */
  redisMs: 1_300,
  /** Limit of each check of `/readyz`. */
  readinessMs: 5_000,
  requestMs: 15_000,
  // The client side has to close an idle connection first. Proxies of Google Cloud do after 600 s, those of Cloudflare after 900 s.
  keepAliveMs: 920_000,
  /** A stop still accepts connections, until load balancers have learned of it from `/readyz`. */
  stopDelayMs: 2_000,
  /** Limit of requests in flight during a stop. */
  stopMs: 10_000,
  metricsCacheMs: 5_000,
  /** Pause after a job, for each delivery in it and in all: it costs far more than an id in it, and a lone callback hardly waits. */
  jobMsPerDelivery: 5,
  jobEveryMs: 100,
  /** Limit of a job, longer than any merge: one that hangs frees its place. */
  jobMs: 45_000,
  /** After which another worker takes the jobs of one that is frozen or gone, and how often workers look for such jobs. */
  jobLockMs: 30_000,
  /** Pause of a job whose tables are made for other families: another worker may have them. */
  foreignJobMs: 5_000,
  /** Pause of BullMQ's worker after an error. */
  jobErrorMs: 1_000,
  /** The end of BullMQ's worker waits for Redis. */
  jobCloseMs: 2_000,
  /** Pause of the drain; it grows while nothing can be stored. */
  drainEveryMs: 500,
  maxDrainPauseMs: 5_000,
  /** With a queue the sweep takes deliveries that have waited for `sweepAgeMs`. */
  sweepEveryMs: 2_000,
  sweepAgeMs: 5_000,
  /** Pause of a worker without a queue. */
  pollMs: 250,
  /** Limit of an attempt of a webhook, and how often a worker looks for changes to send. */
  webhookMs: 15_000,
  webhookEveryMs: 1_000,
  /** Age of a page of changes after which no more of it is sent: its records may have been erased since. */
  webhookPageMs: 5_000,
  /** Limit of a call of a handler; the process of handlers that says nothing for so long is ended, and started again after a pause. */
  handlerMs: 60_000,
  handlersSilentMs: 60_000,
  handlersRestartMs: 1_000,
  /** How long a process that has ended keeps others from calling the handlers. */
  handlersLeaseMs: 10_000,
  /** Pause after a webhook that was not accepted; it doubles. */
  webhookPauseMs: 5_000,
  maxWebhookPauseMs: 12 * 3_600_000,
};

export const limits = {
  /** Failed access checks of an address in a minute, after which it gets 429. */
  rejectionsPerMinute: 300,
  connections: 2_000,
};
