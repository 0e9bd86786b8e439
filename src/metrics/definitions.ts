import type {
  CounterConfiguration,
  GaugeConfiguration,
  HistogramConfiguration,
  RegistryContentType,
} from 'prom-client';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { callbackStatuses } from '../common/http-statuses.ts';
import { maxCounted } from '../store/read-tables.ts';
import { quarantineReasons } from '../store/tables.ts';

/** What a comparison of an appointment with the platform may find; `filled`: of those missing or differing. */
export const comparisonOutcomes = ['agrees', 'missing', 'differs', 'busy', 'erased', 'filled'] as const;

const feedStatuses = [400, 401, 410, 429, 500, 503];
const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const longSeconds = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 21_600, 86_400];

/**
 * The metrics of a registry of OpenMetrics in the text format. That registry renames the counters that it serves, so this
 * one has objects of its own, with the same values.
 */
function inPlainText(openMetrics: Registry<RegistryContentType>): Registry {
  const registry = new Registry();
  for (const { name } of openMetrics.getMetricsAsArray()) {
    const own = { name: { value: name, writable: true } };
    registry.registerMetric(Object.create(openMetrics.getSingleMetric(name)!, own));
  }
  return registry;
}

export type Metrics = ReturnType<typeof defineMetrics>;

/**
 * The metrics of one service, on a registry of its own. The values of each label are a small fixed set, except for
 * the hash of the access log's head; nothing of a callback's content becomes a label.
 */
export function defineMetrics(familyNames: readonly string[], { enableExemplars = false } = {}) {
  const registry = new Registry();
  const openMetrics = enableExemplars ? (registry as Registry<RegistryContentType>) : undefined;
  openMetrics?.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const counter = <L extends string>(config: CounterConfiguration<L>) =>
    new Counter({ ...config, registers });
  const gauge = <L extends string>(config: GaugeConfiguration<L>) => new Gauge({ ...config, registers });
  const histogram = <L extends string>(config: HistogramConfiguration<L>) =>
    new Histogram({ ...config, registers });
  const metrics = {
    requests: counter({
      name: 'receiver_requests_total',
      help: 'Requests by family and response status (aborted: the sender closed the connection early; family none: not a registered path). Unless the status is 200, the sender has to resend: see the log for the reason',
      labelNames: ['family', 'status'],
    }),
    requestSeconds: histogram({
      name: 'receiver_request_duration_seconds',
      help: 'Time from the headers of a callback to its response. If status 200 becomes slower, compare receiver_commit_duration_seconds: the rest is this process',
      labelNames: ['status'],
      buckets: seconds,
      enableExemplars,
    }),
    duplicates: counter({
      name: 'receiver_duplicates_total',
      help: 'Callbacks that were received before. If there are many, the sender does not get the responses in time, or sends everything twice',
      labelNames: ['family'],
    }),
    notStored: counter({
      name: 'receiver_not_stored_total',
      help: 'Callbacks that were acknowledged and not stored. erased: their patient was erased; expired: older than what RETENTION keeps of their family. If expired grows unexpectedly, compare the sender’s event times with RETENTION',
      labelNames: ['family', 'reason'],
    }),
    eventAge: histogram({
      name: 'receiver_event_age_seconds',
      help: 'Time from the event to its arrival, of new deliveries. If it grows while responses are fast, the sender is late, or resends after an outage',
      buckets: longSeconds,
    }),
    commitBatchSize: histogram({
      name: 'receiver_commit_batch_size',
      help: 'Deliveries per commit, by store (redis: the fallback while PostgreSQL is unavailable). Large batches mean that the store is the bottleneck',
      labelNames: ['store'],
      buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500],
    }),
    commitSeconds: histogram({
      name: 'receiver_commit_duration_seconds',
      help: 'Duration of a commit. If it grows, check the disk and the load of the store',
      labelNames: ['store'],
      buckets: seconds,
      enableExemplars,
    }),
    circuitOpen: gauge({
      name: 'receiver_circuit_open',
      help: '1 while the process considers a store unavailable. postgresql: deliveries are stored in Redis, or rejected with 503',
      labelNames: ['store'],
    }),
    storeUp: gauge({
      name: 'receiver_store_up',
      help: '0 if a store did not respond to this scrape in time; the metrics that are read from it are then missing',
      labelNames: ['store'],
    }),
    queueJobs: gauge({
      name: 'receiver_queue_jobs',
      help: 'Jobs of the queue by state. If waiting grows, start more workers; above a limit no jobs are added, and the sweep adds them later',
      labelNames: ['state'],
    }),
    fallbackDeliveries: gauge({
      name: 'receiver_fallback_deliveries',
      help: 'Deliveries stored only in Redis, because PostgreSQL was unavailable. If it does not fall once PostgreSQL is available: is a worker running? Do not wipe Redis until it is 0',
    }),
    fallbackAcknowledges: gauge({
      name: 'receiver_fallback_acknowledges',
      help: '1 while Redis acknowledges callbacks where PostgreSQL is unavailable; 0: they get a 503 then, because its settings may lose them: see receiver doctor. Missing: there is no Redis, or it did not respond',
    }),
    unappliedDeliveries: gauge({
      name: 'receiver_unapplied_deliveries',
      help: `Deliveries that are not applied, counted up to ${maxCounted}. received: waiting for a worker; failed: see deliveries.error, then receiver replay`,
      labelNames: ['status'],
    }),
    oldestPendingAge: gauge({
      name: 'receiver_oldest_pending_delivery_age_seconds',
      help: 'How long the oldest delivery has been waiting for a worker. Above a minute: are the workers running, and is the queue available?',
    }),
    quarantine: gauge({
      name: 'receiver_quarantine_rows',
      help: `Bodies in quarantine, by reason; of more than ${maxCounted} the last received. If it grows, the sender may have changed something: see receiver quarantine list`,
      labelNames: ['reason'],
    }),
    quarantineDropped: counter({
      name: 'receiver_quarantine_dropped_total',
      help: 'Rejected bodies that this receiver evicted from the full quarantine before they were replayed, by the reason of their rejection. Unless the sender resends them, they are lost: replay after a fix, or raise QUARANTINE_LIMIT',
      labelNames: ['reason'],
    }),
    withheldOverdue: gauge({
      name: 'receiver_withheld_overdue_records',
      help: `Erased records that are due to be destroyed and are not held, counted up to ${maxCounted}. If it stays above 0: is a worker running? See its log`,
    }),
    applySeconds: histogram({
      name: 'receiver_apply_duration_seconds',
      help: 'Time that a job of this worker took to apply its deliveries. If it grows, check the locks and the load of PostgreSQL',
      buckets: seconds,
      enableExemplars,
    }),
    applyDelay: histogram({
      name: 'receiver_apply_delay_seconds',
      help: 'Time from the arrival of a job’s oldest delivery until it is applied, in this worker. If it grows, start more workers',
      buckets: longSeconds,
    }),
    applied: counter({
      name: 'receiver_deliveries_applied_total',
      help: 'Deliveries that this worker applied to their tables',
    }),
    failed: counter({
      name: 'receiver_deliveries_failed_total',
      help: 'Deliveries of this worker whose data the database rejected. See deliveries.error, then receiver replay',
    }),
    retries: counter({
      name: 'receiver_job_retries_total',
      help: 'Retries of this worker’s jobs after an outage, or while a table cannot be written. See the log for the reason',
    }),
    retentionDeleted: counter({
      name: 'receiver_retention_deleted_total',
      help: 'Rows that this worker deleted because they were older than RETENTION keeps, by policy (bodies: envelopes that were reduced; erased: withheld data that was destroyed). If it rises unexpectedly, check RETENTION',
      labelNames: ['policy'],
    }),
    retentionPassed: gauge({
      name: 'receiver_retention_last_pass_timestamp_seconds',
      help: 'When this worker last completed a pass of the retention; 0: not since it started. If no worker completed one for two days, see their logs',
    }),
    compared: counter({
      name: 'receiver_reconciliation_appointments_total',
      help: 'Appointments that this worker compared with the platform, by outcome (filled: of those missing or differing, stored). If missing rises, callbacks do not arrive: see /console/reports/completeness',
      labelNames: ['outcome'],
    }),
    reconciliationPassed: gauge({
      name: 'receiver_reconciliation_last_pass_timestamp_seconds',
      help: 'When this worker last completed a pass of the reconciliation; 0: not since it started',
    }),
    feedPosition: gauge({
      name: 'receiver_feed_position',
      help: 'The last position of the feed of changes; 0: it is closed',
    }),
    feedLag: gauge({
      name: 'receiver_feed_lag_seconds',
      help: 'Age of the oldest change that has no position yet. Above a few seconds: does a process that serves the feed run? See its log',
    }),
    feedRefused: counter({
      name: 'receiver_feed_refused_total',
      help: 'Requests for changes that were refused, by response status. 401: a token is wrong; 410: a reader has to begin anew; 503: the database is unavailable',
      labelNames: ['status'],
    }),
    webhooks: counter({
      name: 'receiver_webhooks_total',
      help: 'Attempts of this worker to send a webhook, by the class of the response’s status; none: there was no response. See receiver destinations list',
      labelNames: ['outcome'],
    }),
    destinations: gauge({
      name: 'receiver_destinations',
      help: 'Destinations of webhooks by state. failing: the next change was not accepted; stopped: the receiver has paused it, see receiver destinations list',
      labelNames: ['state'],
    }),
    requeued: counter({
      name: 'receiver_requeued_deliveries_total',
      help: 'Deliveries without a state (received, applied or failed) that this worker found and gave one again. More than 0 is not the receiver’s doing: somebody deleted rows, or a page of PostgreSQL was damaged',
    }),
    lost: gauge({
      name: 'receiver_lost_deliveries',
      help: `Acknowledged deliveries that are in no store any more, counted up to ${maxCounted}, by the store that lost them. Above 0: receiver doctor says which, ask the platform to send them again`,
      labelNames: ['store'],
    }),
    wrongSums: counter({
      name: 'receiver_wrong_sums_total',
      help: 'Days whose kept sums differed from their rows when this worker checked some. They were made again; more than 0 is an error of the receiver, or somebody wrote past its triggers: see receiver reports check',
    }),
  };
  // A rate ignores the first sample of a new series, so an alert would miss the first error.
  for (const family of familyNames) {
    for (const status of [...callbackStatuses, 'aborted']) metrics.requests.inc({ family, status }, 0);
    metrics.duplicates.inc({ family }, 0);
    for (const reason of ['erased', 'expired']) metrics.notStored.inc({ family, reason }, 0);
  }
  for (const reason of quarantineReasons) metrics.quarantineDropped.inc({ reason }, 0);
  for (const policy of [...familyNames, 'bodies', 'quarantine', 'access_log', 'erased']) {
    metrics.retentionDeleted.inc({ policy }, 0);
  }
  for (const outcome of comparisonOutcomes) metrics.compared.inc({ outcome }, 0);
  for (const status of feedStatuses) metrics.feedRefused.inc({ status }, 0);
  for (const outcome of ['2xx', '3xx', '4xx', '5xx', 'none']) metrics.webhooks.inc({ outcome }, 0);
  /** `openMetrics`: the same metrics with exemplars; undefined: there are none. */
  return { ...metrics, registry: openMetrics ? inPlainText(openMetrics) : registry, openMetrics };
}
