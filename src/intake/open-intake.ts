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
  /** For deliveries alone, see openInboxDatabase; left out: `pool`. */
  inboxPool?: pg.Pool;
  /** Of PostgreSQL. */
  circuit: Circuit;
  /** Hands new deliveries to the queue; left out: they are found by the sweep. */
  enqueue?: (ids: string[]) => Promise<void>;
  fallback?: Fallback | undefined;
  observe?: { inbox: InboxObserver; intake: IntakeObserver } | undefined;
  log: Log;
}

export interface OpenIntake {
  intake: Intake;
  /** Resolves once everything that was given is durable and was handed on. */
  close: () => Promise<void>;
}

/** An intake on the stores of a process. It opens no connection of its own. */
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
