/** Limits and times that no variable sets. They are part of the configuration, so that a test can choose others. */
export const fixed = {
  http: {
    connections: {
      total: 2_000,
      /** From one address, without an accepted callback. */
      perAddress: 500,
      /** Beyond the total, for health checks. */
      forHealth: 50,
      /** Unfinished responses of a connection; further requests on it are ignored, and too many of those close it. */
      pipelined: 8,
      ignored: 64,
    },
    /** Time limit for a request to arrive. */
    requestMs: 15_000,
    // Longer than the usual minute of proxies: the client side has to close idle connections first.
    keepAliveMs: 65_000,
    bodies: {
      /** Memory for large bodies, of all connections together and of those from one address. */
      bytes: 8 * 1024 * 1024,
      bytesPerAddress: 2 * 1024 * 1024,
      /** How fast a large body has to arrive. */
      leastBytesPerS: 16 * 1024,
      /** Bodies up to this size are read at once: the number of connections limits their memory. */
      smallBytes: 16 * 1024,
      /** How many large bodies may wait, and how long. */
      maxWaiting: 500,
      waitMs: 5_000,
    },
  },
  oidc: {
    /** How long each request to the provider may take. */
    timeoutMs: 10_000,
    /** How long the provider's metadata is used without asking again. */
    discoveryMs: 10 * 60_000,
    /** How often a session's user is checked with the provider, where it gives refresh tokens. */
    recheckMs: 5 * 60_000,
  },
  metrics: {
    /** How long the stores' figures are cached. */
    cacheMs: 5_000,
  },
  alerts: {
    everyMs: 60_000,
    /** How long a store must be unavailable. */
    outageMs: 2 * 60_000,
    /** How long an alert must be over before its end is sent. */
    settledMs: 5 * 60_000,
  },
  service: {
    /** When a page of the console gives up a database that does not respond; an entry of the access log may take a minute. */
    pageTimeoutMs: 65_000,
    /** Limits of the console's downloads: without progress, and in total. */
    downloads: { stalledMs: 30_000, totalMs: 15 * 60_000 },
    /** Interval of the sweep for deliveries without a job, and their minimum age. */
    sweep: { everyMs: 2_000, olderThanMs: 5_000 },
    /** How long a stop waits before it closes idle connections. */
    drainMs: 2_000,
  },
};
