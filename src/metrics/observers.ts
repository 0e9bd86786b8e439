import type { Metrics } from './definitions.ts';

/** The callbacks through which the parts of the service report events; the parts do not depend on the metrics. */
export function observersOf(metrics: Metrics) {
  return {
    http: {
      responded: (family: string, status: number | 'aborted', seconds: number) => {
        metrics.requests.inc({ family, status });
        metrics.requestSeconds.observe({ status }, seconds);
      },
      unrouted: (status: number) => metrics.requests.inc({ family: 'none', status }),
    },
    intake: {
      received: (family: string, status: 'accepted' | 'duplicate', eventTimeMs: number) => {
        if (status === 'duplicate') metrics.duplicates.inc({ family });
        else metrics.eventAge.observe(Math.max(0, Date.now() - eventTimeMs) / 1000);
      },
      notStored: (family: string, reason: 'erased' | 'expired') => metrics.notStored.inc({ family, reason }),
      committed: (store: string, deliveries: number, seconds: number) => {
        metrics.commitBatchSize.observe({ store: store.toLowerCase() }, deliveries);
        metrics.commitSeconds.observe({ store: store.toLowerCase() }, seconds);
      },
    },
    circuit: (store: string, isOpen: boolean) =>
      metrics.circuitOpen.set({ store: store.toLowerCase() }, isOpen ? 1 : 0),
    retention: {
      deleted: (policy: string, rows: number) => metrics.retentionDeleted.inc({ policy }, rows),
      passed: () => metrics.retentionPassed.setToCurrentTime(),
    },
    worker: {
      applied: (applied: number, failed: number, seconds: number, waitedS: number | null | undefined) => {
        metrics.applied.inc(applied);
        metrics.failed.inc(failed);
        metrics.applySeconds.observe(seconds);
        if (waitedS != null) metrics.applyDelay.observe(waitedS + seconds);
      },
      retried: () => metrics.retries.inc(),
    },
  };
}
