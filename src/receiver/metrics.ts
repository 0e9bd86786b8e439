import { Counter, Histogram } from 'prom-client';

// The values of each label are a small fixed set; nothing of a callback's content becomes a label.

const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export const requests = new Counter({
  name: 'receiver_requests_total',
  help: 'Requests by family and response status (aborted: the sender closed the connection early; family none: not a registered path). Unless the status is 200, the sender has to resend: see the log for the reason',
  labelNames: ['family', 'status'],
});

export const requestSeconds = new Histogram({
  name: 'receiver_request_duration_seconds',
  help: 'Time from the headers of a callback to its response. If status 200 becomes slower, compare receiver_commit_duration_seconds: the rest is this process',
  labelNames: ['status'],
  buckets: seconds,
});

export const duplicates = new Counter({
  name: 'receiver_duplicates_total',
  help: 'Callbacks that were received before. If there are many, the sender does not get the responses in time, or sends everything twice',
  labelNames: ['family'],
});

export const notStored = new Counter({
  name: 'receiver_not_stored_total',
  help: 'Callbacks that were acknowledged and not stored. expired: older than what RETENTION keeps of their family. If it grows unexpectedly, compare the sender’s event times with RETENTION',
  labelNames: ['family', 'reason'],
});

export const commitSeconds = new Histogram({
  name: 'receiver_commit_duration_seconds',
  help: 'Duration of a commit by store (redis: the fallback while PostgreSQL is unavailable). If it grows, check the disk and the load of the store',
  labelNames: ['store'],
  buckets: seconds,
});

export const applied = new Counter({
  name: 'receiver_deliveries_applied_total',
  help: 'Deliveries that this worker applied to their tables',
});

export const failed = new Counter({
  name: 'receiver_deliveries_failed_total',
  help: 'Deliveries of this worker whose data the database rejected. See deliveries.error, then receiver replay',
});
