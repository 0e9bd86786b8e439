import type { Response } from 'express';
import type { RateLimit } from '../common/rate-limit.ts';
import type { Readiness } from '../common/readiness.ts';
import type { Config } from '../config/config.ts';
import type { Family } from '../families/index.ts';
import type { Problem } from '../health/problem.ts';
import type { Intake } from '../intake/intake.ts';
import type { Access } from '../privacy/log/access-log.ts';
import type { QueueBackend } from '../queue/backend.ts';
import type { Circuit } from '../receiver/store/circuit.ts';
import type { Attempts, EnterDependencies } from '../sign-in/enter.ts';
import type { Provider } from '../sign-in/provider.ts';
import type { Sessions } from '../sign-in/sessions.ts';
import type { ConsoleStore, StoreOptions } from '../store/console-store.ts';
import type { Db } from '../store/tables.ts';
import type { Routes } from './guard.ts';
import type { Visit } from './ui/context.ts';

export interface Receiver {
  /** The configured access checks; none: anybody can send callbacks. */
  checks: readonly string[];
  /** The registered paths that a sender needs at least, by their names. */
  paths: Readonly<Record<string, string>>;
  /** A test callback as a line for a shell, to the origin that browsers use; undefined: the path for every event is not served. */
  testCommand: ((origin: string) => string) | undefined;
}

/** What the console needs; the composition root provides it. */
export interface ConsoleDependencies extends StoreOptions {
  config: StoreOptions['config'] &
    Pick<Config, 'adminToken' | 'oidc' | 'publicUrl' | 'erasure' | 'downloads' | 'reportCurrency'> & {
      authentication: Pick<Config['authentication'], 'trustProxy'>;
    };
  families: readonly Family[];
  attempts: Attempts;
  /** Limit the searches of a user by what is known of a person: of the role privacy, and of others. */
  searches: Record<'privacy' | 'others', Pick<RateLimit, 'consume'>>;
  /** Their connections are none of the console's, whose pages may take all of those. */
  sessions: Sessions;
  readiness: () => Promise<Readiness>;
  problems: () => Promise<readonly Problem[]>;
  /** PostgreSQL's. */
  circuit: Pick<Circuit, 'isOpen'>;
  /** Where callbacks are stored while PostgreSQL is unavailable. */
  fallback: Pick<NonNullable<QueueBackend['fallback']>, 'count' | 'oldest' | 'readState'> | undefined;
  receiver: Receiver;
  intake: Pick<Intake, 'replay' | 'quarantineBody'>;
}

/** Adds an entry about the signed-in user. */
export type LogVisit = (res: Response, access: Omit<Access, 'actor'>, on?: Db) => Promise<void>;

export interface RouteDependencies
  extends Omit<ConsoleDependencies, 'config'>,
    Pick<Config, 'erasure' | 'downloads'>,
    Omit<ConsoleStore, 'close'> {
  /** The IANA time zone that times are shown in. */
  timezone: string;
  logAccess: LogVisit;
}

/** What signing in and out needs. */
export interface SignInDependencies extends ConsoleDependencies, EnterDependencies {
  provider: Provider | undefined;
  frame: Pick<Visit, 'navigation' | 'may'>;
}

/** A part of the console. */
export interface Section {
  /** Whether it works while PostgreSQL is unavailable. */
  worksInOutage?: true;
  addRoutes: (routes: Routes, dependencies: RouteDependencies) => void;
}
