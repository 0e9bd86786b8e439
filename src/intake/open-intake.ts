import type pg from 'pg';
import type { Config } from '../config.ts';
import type { Family } from '../families/index.ts';
import type { Log } from '../log.ts';
import type { Circuit } from '../store/circuit.ts';
import { Drift } from './drift.ts';
import { type Fallback, Inbox, type InboxObserver } from './inbox.ts';
import { Intake, type IntakeObserver } from './intake.ts';
import { Quarantine } from './quarantine.ts';

export interface IntakeStores {
  config: Pick<Config, 'paths' | 'authentication' | 'quarantine'>;
  families: readonly [Family, ...Family[]];
  pool: pg.Pool;
  /** Connections for deliveries only, see openInboxDatabase. Default: `pool`. */
  inboxPool?: pg.Pool;
  /** PostgreSQL's. */
  circuit: Circuit;
  /** Enqueues new deliveries. Default: the sweep finds them. */
  enqueue?: (ids: string[]) => Promise<void>;
  fallback?: Fallback | undefined;
  observe?: { inbox: InboxObserver; intake: IntakeObserver } | undefined;
  log: Log;
}

export interface OpenIntake {
  intake: Intake;
  /** Resolves once every received callback is durable and enqueued. */
  close: () => Promise<void>;
}

/** Creates the intake of a process from its stores. It opens no connections. */
export function openIntake(stores: IntakeStores): OpenIntake {
  const {
    config,
    families,
    pool,
    inboxPool = pool,
    circuit,
    enqueue = async () => {},
    fallback,
    log,
  } = stores;
  const common = { pool: inboxPool, circuit, enqueue, log, observe: stores.observe?.inbox };
  const inbox = new Inbox({ ...common, fallback });
  const databaseInbox = fallback ? new Inbox(common) : inbox;
  const quarantine = new Quarantine({ pool, limits: config.quarantine, log });
  const drift = new Drift(pool, log, families);
  const intake = new Intake({
    config,
    families,
    inbox,
    databaseInbox,
    quarantine,
    drift,
    observe: stores.observe?.intake,
    log,
  });
  const close = async () => {
    await Promise.all([inbox.drained(), databaseInbox.drained(), quarantine.drained()]);
    await drift.close();
  };
  return { intake, close };
}
