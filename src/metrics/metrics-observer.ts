import type { Histogram } from 'prom-client';
import type { Observer } from '../common/observer.ts';
import { comparisonOutcomes, type Metrics } from './definitions.ts';

/** The labels of an exemplar of these deliveries; undefined: none of them has a trace. */
export type ExemplarOf = (deliveries: readonly string[]) => Record<string, string> | undefined;

/** The observer that keeps the metrics. @param exemplarOf undefined: there are no exemplars */
export function metricsObserver(metrics: Metrics, exemplarOf?: ExemplarOf): Observer {
  const observe = <L extends string>(
    histogram: Histogram<L>,
    labels: Partial<Record<L, string | number>>,
    value: number,
    deliveries: () => readonly string[],
  ) => {
    if (!exemplarOf) histogram.observe(labels, value);
    else histogram.observe({ labels, value, exemplarLabels: exemplarOf(deliveries()) ?? {} } as never);
  };
  return {
    responded: ({ family, status, seconds, delivery }) => {
      metrics.requests.inc({ family, status });
      observe(metrics.requestSeconds, { status }, seconds, () => (delivery ? [delivery] : []));
    },
    unrouted: (_req, status) => metrics.requests.inc({ family: 'none', status }),
    feedRefused: (_req, status) => metrics.feedRefused.inc({ status }),
    webhook: (status) => metrics.webhooks.inc({ outcome: status ? `${Math.floor(status / 100)}xx` : 'none' }),
    received: (family, status, eventTimeMs) => {
      if (status === 'duplicate') metrics.duplicates.inc({ family });
      else metrics.eventAge.observe(Math.max(0, Date.now() - eventTimeMs) / 1000);
    },
    notStored: (family, reason) => metrics.notStored.inc({ family, reason }),
    evicted: (reason, bodies) => metrics.quarantineDropped.inc({ reason }, bodies),
    committed: ({ store: name, deliveries, seconds, error }) => {
      if (error !== undefined) return;
      const store = name.toLowerCase();
      metrics.commitBatchSize.observe({ store }, deliveries.length);
      observe(metrics.commitSeconds, { store }, seconds, () => deliveries.map(({ id }) => id));
    },
    circuit: (store, isOpen) => metrics.circuitOpen.set({ store: store.toLowerCase() }, isOpen ? 1 : 0),
    applied: ({ ids, applied, failed, seconds, waitedS }) => {
      metrics.applied.inc(applied);
      metrics.failed.inc(failed.length);
      observe(metrics.applySeconds, {}, seconds, () => ids);
      if (waitedS != null) metrics.applyDelay.observe(waitedS + seconds);
    },
    retried: () => metrics.retries.inc(),
    deleted: (policy, rows) => metrics.retentionDeleted.inc({ policy }, rows),
    retained: () => metrics.retentionPassed.setToCurrentTime(),
    compared: (counts) => {
      for (const outcome of comparisonOutcomes) metrics.compared.inc({ outcome }, counts[outcome] ?? 0);
    },
    reconciled: () => metrics.reconciliationPassed.setToCurrentTime(),
    wrongSums: (days) => metrics.wrongSums.inc(days),
    checkedStates: ({ requeued }) => metrics.requeued.inc(requeued),
  };
}
