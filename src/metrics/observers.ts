import type { Metrics } from './definitions.ts';

/** What the parts of the service are given to say what they do; they know nothing of metrics. */
export function observersOf(metrics: Metrics) {
  return {
    http: {
      responded: (family: string, status: number | 'gone', seconds: number) => {
        metrics.requests.inc({ family, status });
        metrics.requestSeconds.observe({ status }, seconds);
      },
      strayed: (status: number) => metrics.requests.inc({ family: 'none', status }),
    },
    intake: {
      received: (family: string, status: 'accepted' | 'duplicate', eventTimeMs: number) => {
        if (status === 'duplicate') metrics.duplicates.inc({ family });
        else metrics.eventAge.observe(Math.max(0, Date.now() - eventTimeMs) / 1000);
      },
    },
    inbox: {
      committed: (store: string, deliveries: number, seconds: number) => {
        metrics.commitSize.observe({ store: store.toLowerCase() }, deliveries);
        metrics.commitSeconds.observe({ store: store.toLowerCase() }, seconds);
      },
    },
    circuit: (store: string, unavailable: boolean) =>
      metrics.circuitOpen.set({ store: store.toLowerCase() }, unavailable ? 1 : 0),
    worker: {
      applied: (job: {
        applied: number;
        failed: number;
        seconds: number;
        waitedS?: number | null | undefined;
      }) => {
        metrics.applied.inc(job.applied);
        metrics.failed.inc(job.failed);
        metrics.applySeconds.observe(job.seconds);
        if (job.waitedS != null) metrics.rowDelay.observe(job.waitedS + job.seconds);
      },
      retried: () => metrics.retries.inc(),
    },
  };
}
