import type { Histogram } from 'prom-client';
import type { Metrics } from './definitions.ts';

interface RespondedRequest {
  family: string;
  status: number | 'aborted';
  seconds: number;
  delivery?: string | undefined;
}

interface CommittedDeliveries {
  store: string;
  deliveries: readonly { id: string }[];
  seconds: number;
  error?: unknown;
}

interface AppliedDeliveries {
  ids: readonly string[];
  applied: number;
  failed: readonly unknown[];
  seconds: number;
  waitedS?: number | null;
}

/** The labels of an exemplar of these deliveries; undefined: none of them has a trace. */
export type ExemplarOf = (deliveries: readonly string[]) => Record<string, string> | undefined;

/**
 * The callbacks through which the parts of the service report events; the parts do not depend on the metrics.
 *
 * @param exemplarOf undefined: there are no exemplars
 */
export function observersOf(metrics: Metrics, exemplarOf?: ExemplarOf) {
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
    http: {
      responded: ({ family, status, seconds, delivery }: RespondedRequest) => {
        metrics.requests.inc({ family, status });
        observe(metrics.requestSeconds, { status }, seconds, () => (delivery ? [delivery] : []));
      },
      unrouted: (_req: unknown, status: number) => metrics.requests.inc({ family: 'none', status }),
    },
    intake: {
      received: (family: string, status: 'accepted' | 'duplicate', eventTimeMs: number) => {
        if (status === 'duplicate') metrics.duplicates.inc({ family });
        else metrics.eventAge.observe(Math.max(0, Date.now() - eventTimeMs) / 1000);
      },
      notStored: (family: string, reason: 'erased' | 'expired') => metrics.notStored.inc({ family, reason }),
      dropped: (reason: string, bodies: number) => metrics.quarantineDropped.inc({ reason }, bodies),
      committed: ({ store: name, deliveries, seconds, error }: CommittedDeliveries) => {
        if (error !== undefined) return;
        const store = name.toLowerCase();
        metrics.commitBatchSize.observe({ store }, deliveries.length);
        observe(metrics.commitSeconds, { store }, seconds, () => deliveries.map(({ id }) => id));
      },
    },
    circuit: (store: string, isOpen: boolean) =>
      metrics.circuitOpen.set({ store: store.toLowerCase() }, isOpen ? 1 : 0),
    retention: {
      deleted: (policy: string, rows: number) => metrics.retentionDeleted.inc({ policy }, rows),
      passed: () => metrics.retentionPassed.setToCurrentTime(),
    },
    worker: {
      applied: ({ ids, applied, failed, seconds, waitedS }: AppliedDeliveries) => {
        metrics.applied.inc(applied);
        metrics.failed.inc(failed.length);
        observe(metrics.applySeconds, {}, seconds, () => ids);
        if (waitedS != null) metrics.applyDelay.observe(waitedS + seconds);
      },
      retried: () => metrics.retries.inc(),
    },
  };
}

/** An observer that notifies each of these; undefined: there is none. */
export function joinObservers<Observer extends object>(
  ...observers: (Observer | undefined)[]
): Observer | undefined {
  const given = observers.filter((observer) => observer !== undefined);
  if (given.length < 2) return given[0];
  const names = new Set(given.flatMap((observer) => Object.keys(observer) as (keyof Observer)[]));
  const joined = Array.from(names, (name) => {
    const calls = given.flatMap(
      (observer) => (observer[name] as ((...args: unknown[]) => void) | undefined) ?? [],
    );
    const callAll = (...args: unknown[]) => {
      for (const call of calls) call(...args);
    };
    return [name, callAll];
  });
  return Object.fromEntries(joined) as Observer;
}
