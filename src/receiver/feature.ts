import type { Command } from 'commander';
import type { Router } from 'express';
import type pg from 'pg';
import type { Family } from '../callbacks/families/family.ts';
import type { Config } from '../common/config/config.ts';
import type { Log } from '../common/log.ts';
import type { ReceiverState } from './receiver.ts';
import type { Db } from './store/tables.ts';
import type { Merge } from './worker/merge.ts';

/** Its connections are not those of the path of a callback. */
export interface Core {
  config: Config;
  families: readonly Family[];
  db: Db;
  pool: pg.Pool;
  /** Where reports read: a standby, or `pool`. */
  reports: pg.Pool;
  merge: Merge;
  log: Log;
  features: readonly Feature[];
}

/** That of a receiver or a worker, or of the doctor. A command has no state. */
export interface RunningCore extends Core {
  process: ReceiverState;
}

export interface Task {
  name: string;
  everyMs: number;
  /** After a failure; default: a minute, or `everyMs` if that is less. */
  retryMs?: number;
  /** `any`: also with the role `receiver`; `each`: in every process, also without the database. Default: one worker at a time. */
  processes?: 'any' | 'each';
  /** A process that is gone keeps the task for so long; default: a minute. */
  leaseMs?: number;
  /** @param signal is aborted when the process stops, or another may have taken the task over */
  run: (signal: AbortSignal) => Promise<unknown>;
}

/** A check, as `/readyz`, the page Health, `doctor`, alerts and metrics show it. */
export interface Check {
  name: string;
  /** Such as a family or a destination, where there are several. */
  about?: string | undefined;
  status: 'ok' | 'warn' | 'fail';
  title: string;
  detail: string;
  since?: Date | undefined;
  todo?: string | undefined;
}

/** Makes the action of a command, for which the database is opened. */
export type OnCore = <Args extends unknown[]>(
  run: (core: Core, ...args: Args) => Promise<void>,
) => (...args: Args) => Promise<void>;

export interface Feature {
  name: string;
  tasks?: (core: RunningCore) => Task[];
  routes?: (core: RunningCore) => Router;
  commands?: (program: Command, onCore: OnCore) => void;
  checks?: (core: RunningCore) => Promise<Check[]>;
}
