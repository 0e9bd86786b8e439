import type { IncomingMessage } from 'node:http';

// What the parts of the receiver report as it happens, for metrics, traces, logs and counts. The parts depend on none of
// those, and those on none of the parts.

export type Stored = 'accepted' | 'duplicate';

/**
 * Why a delivery is acknowledged and not stored. `erased`: it is about something that was erased; `expired`: it is older than
 * what its family keeps.
 */
export type NotStored = 'erased' | 'expired';

/** A request to a registered path, when its response is sent. */
export interface Responded {
  req: IncomingMessage;
  path: string;
  family: string;
  /** `aborted`: the sender closed the connection before its request was complete. */
  status: number | 'aborted';
  seconds: number;
  /** The id of the delivery; undefined: the request was rejected. */
  delivery?: string | undefined;
  event?: string | undefined;
  result?: Stored | NotStored | undefined;
  /** The name of the error. */
  reason?: string | undefined;
}

/** A commit of deliveries, or a failed one. */
interface Committed {
  store: string;
  deliveries: readonly { id: string }[];
  seconds: number;
  error?: unknown;
}

/** An attempt to apply the deliveries of a job. */
interface AppliedJob {
  job: string;
  ids: readonly string[];
  applied: number;
  failed: readonly { id: string }[];
  /** Families whose tables could not be written. */
  broken: readonly unknown[];
  retries: number;
  seconds: number;
  /** Seconds from the receipt of the oldest delivery to the statement; null without deliveries. */
  waitedS?: number | null;
}

export interface Observer {
  responded?: (request: Responded) => void;
  /** A request to any other path that was responded to with an error. */
  unrouted?: (req: IncomingMessage, status: number, reason: string) => void;
  /** A request for changes that was responded to with an error. */
  feedRefused?: (req: IncomingMessage, status: number, reason: string) => void;
  /** An attempt to send a webhook. @param status undefined: no answer came */
  webhook?: (status: number | undefined) => void;
  received?: (family: string, status: Stored, eventTimeMs: number) => void;
  notStored?: (family: string, reason: NotStored) => void;
  /** Called when rejected bodies that were not replayed are evicted. */
  evicted?: (reason: string, bodies: number) => void;
  committed?: (commit: Committed) => void;
  circuit?: (store: string, isOpen: boolean) => void;
  applied?: (job: AppliedJob) => void;
  /** Called when deliveries could not be applied and will be tried again. */
  retried?: () => void;
  /** Called for what retention deletes. */
  deleted?: (policy: string, rows: number) => void;
  /** Called when a pass of retention is complete. */
  retained?: () => void;
  /** Called with the numbers of appointments that were compared with the platform, by outcome. */
  compared?: (counts: Readonly<Record<string, number>>) => void;
  /** Called when a pass of the reconciliation is complete. */
  reconciled?: () => void;
  /** Called when sums of reports differed from their rows, with the number of days. */
  wrongSums?: (days: number) => void;
  /** Called when deliveries were compared with their states: how many got one again, and how many are newly known as lost. */
  checkedStates?: (found: { requeued: number; lost: number }) => void;
}

/** An observer that notifies each of these; undefined: there is none. */
export function joinObservers(...observers: (Observer | undefined)[]): Observer | undefined {
  const given = observers.filter((observer) => observer !== undefined);
  if (given.length < 2) return given[0];
  const names = new Set(given.flatMap((observer) => Object.keys(observer) as (keyof Observer)[]));
  const joined = Array.from(names, (name) => {
    const calls = given.flatMap((observer) => (observer[name] as Notify | undefined) ?? []);
    const callAll: Notify = (...args) => {
      for (const call of calls) call(...args);
    };
    return [name, callAll];
  });
  return Object.fromEntries(joined) as Observer;
}

type Notify = (...args: unknown[]) => void;
