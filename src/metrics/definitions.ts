import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { callbackStatuses } from '../http-statuses.ts';

/** No figure counts further in the tables or the queue than this. */
export const countedAtMost = 100_000;

const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const longSeconds = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 21_600, 86_400];

export type Metrics = ReturnType<typeof defineMetrics>;

/**
 * The metrics of one service, on a registry of its own. A label's value is always one of a few that the
 * code knows: nothing that a callback says becomes one.
 */
export function defineMetrics(familyNames: readonly string[]) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const metrics = {
    registry,
    requests: new Counter({
      name: 'receiver_requests_total',
      help: 'Requests by family and status of the answer (gone: the sender hung up; family none: no registered path). Not 200 means that the sender has to send again: look at the log for the reason',
      labelNames: ['family', 'status'],
      registers,
    }),
    requestSeconds: new Histogram({
      name: 'receiver_request_duration_seconds',
      help: 'From the headers of a callback to its answer. If that of status 200 grows, compare receiver_commit_duration_seconds: the rest is this process',
      labelNames: ['status'],
      buckets: seconds,
      registers,
    }),
    duplicates: new Counter({
      name: 'receiver_duplicates_total',
      help: 'Callbacks that were held already. Many of them: the sender does not get our answers in time, or sends everything twice',
      labelNames: ['family'],
      registers,
    }),
    eventAge: new Histogram({
      name: 'receiver_event_age_seconds',
      help: 'From the event to its arrival, of new deliveries. If it grows while requests are quick, the sender is late, or repeats after an outage',
      buckets: longSeconds,
      registers,
    }),
    commitSize: new Histogram({
      name: 'receiver_commit_deliveries',
      help: 'Deliveries per commit, by the store that took them (redis: PostgreSQL was away). Large commits mean that the store is the bottleneck',
      labelNames: ['store'],
      buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500],
      registers,
    }),
    commitSeconds: new Histogram({
      name: 'receiver_commit_duration_seconds',
      help: 'How long a commit took. If it grows, look at the disk and the load of the store',
      labelNames: ['store'],
      buckets: seconds,
      registers,
    }),
    circuitOpen: new Gauge({
      name: 'receiver_circuit_open',
      help: '1 while the process considers a store unavailable. postgresql: deliveries wait in Redis, or are refused with 503',
      labelNames: ['store'],
      registers,
    }),
    storeUp: new Gauge({
      name: 'receiver_store_up',
      help: '0 if a store did not answer this scrape in time; then the figures that come from it are left out',
      labelNames: ['store'],
      registers,
    }),
    jobs: new Gauge({
      name: 'receiver_jobs',
      help: 'Jobs of the queue by state. Waiting ones that grow: start more workers; 1,000 or more: the sweep adds the rest as their turn comes',
      labelNames: ['state'],
      registers,
    }),
    fallback: new Gauge({
      name: 'receiver_fallback_deliveries',
      help: 'Deliveries that wait in Redis alone, because PostgreSQL was away when they came. If it does not fall while PostgreSQL answers: is a worker alive? Keep Redis safe until it is 0 again',
      registers,
    }),
    deliveries: new Gauge({
      name: 'receiver_deliveries',
      help: `Deliveries that are not in their table, counted to ${countedAtMost}. received: they wait for a worker; failed: see deliveries.error, then receiver replay`,
      labelNames: ['status'],
      registers,
    }),
    oldestWaiting: new Gauge({
      name: 'receiver_oldest_waiting_seconds',
      help: 'How long the oldest delivery that is not applied has waited. Above a minute: are the workers alive, and is the queue up?',
      registers,
    }),
    quarantine: new Gauge({
      name: 'receiver_quarantine_rows',
      help: 'Bodies that were refused and kept, by reason. If it grows, the sender has changed something: receiver quarantine list',
      labelNames: ['reason'],
      registers,
    }),
    applySeconds: new Histogram({
      name: 'receiver_apply_duration_seconds',
      help: 'How long a job took to apply its deliveries, in the worker that serves this. If it grows, look at the locks and the load of PostgreSQL',
      buckets: seconds,
      registers,
    }),
    rowDelay: new Histogram({
      name: 'receiver_row_delay_seconds',
      help: 'From the arrival of a job’s oldest delivery to its row, in the worker that serves this. If it grows, start more workers',
      buckets: longSeconds,
      registers,
    }),
    applied: new Counter({
      name: 'receiver_deliveries_applied_total',
      help: 'Deliveries that became rows, in the worker that serves this',
      registers,
    }),
    failed: new Counter({
      name: 'receiver_deliveries_failed_total',
      help: 'Deliveries whose data the tables refused, in the worker that serves this. See deliveries.error, then receiver replay',
      registers,
    }),
    retries: new Counter({
      name: 'receiver_job_retries_total',
      help: 'Tries of jobs that met an outage or a table that cannot be written to, in the worker that serves this. See the log for the reason',
      registers,
    }),
  };
  // An alert on a rate would not see the first of a series that was not there before.
  for (const family of familyNames) {
    for (const status of [...callbackStatuses, 'aborted']) metrics.requests.inc({ family, status }, 0);
    metrics.duplicates.inc({ family }, 0);
  }
  return metrics;
}
