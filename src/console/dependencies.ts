import type { RateLimit } from '../common/rate-limit.ts';
import type { Readiness } from '../common/readiness.ts';
import type { Config } from '../config/config.ts';
import type { Family } from '../families/index.ts';
import type { Problem } from '../health/problem.ts';
import type { Intake } from '../intake/intake.ts';
import type { QueueBackend } from '../queue/backend.ts';
import type { Circuit } from '../store/circuit.ts';
import type { LogAccess } from './log-access.ts';
import type { DownloadLimits } from './reports/download.ts';
import type { SessionStore } from './session-store.ts';
import type { ConsoleStore, StoreOptions } from './store.ts';

/** How somebody signs in. */
export type Way = 'admin token' | 'identity provider';

/** The receiver that serves the console. */
export interface Receiver {
  /** The configured access checks; none: anybody can send callbacks. */
  checks: readonly string[];
  /** The registered paths that a sender needs at least, by their names. */
  paths: Readonly<Record<string, string>>;
  /** The path of test callbacks; undefined: it is not served. */
  testPath: string | undefined;
  testBody: () => string;
  /** Undefined: callbacks need no signature. */
  signatureHeader: string | undefined;
  /** @throws the error of the connection */
  sendTest: () => Promise<{ status: number; id?: string | undefined; detail?: string | undefined }>;
}

/** What the console needs; the composition root provides it. */
export interface ConsoleDependencies extends StoreOptions {
  /** Undefined: nobody signs in with it. */
  adminToken: string | undefined;
  oidc: Config['oidc'];
  /** Scheme and host that browsers use; undefined: as each request tells them. */
  publicUrl: string | undefined;
  /** The number of proxies in front. */
  trustProxy: number;
  families: readonly Family[];
  /** Limits the failed sign-ins of an address. */
  attempts: Readonly<Record<Way, Pick<RateLimit, 'check' | 'consume'>>>;
  /** Limits the searches of a user by what is known of a person. */
  searches: Pick<RateLimit, 'consume'>;
  sessionStore: SessionStore;
  erasure: Config['erasure'];
  downloads: DownloadLimits;
  readiness: () => Promise<Readiness>;
  /** What is wrong with processing. */
  problems: () => Promise<readonly Problem[]>;
  /** PostgreSQL's. */
  circuit: Pick<Circuit, 'isOpen'>;
  /** Where callbacks are stored while PostgreSQL is unavailable. */
  fallback: Pick<NonNullable<QueueBackend['fallback']>, 'count' | 'oldest'> | undefined;
  receiver: Receiver;
  intake: Pick<Intake, 'replay' | 'quarantineBody'>;
}

/** What the routes of each page get. */
export type RouteDependencies = ConsoleDependencies & Omit<ConsoleStore, 'close'> & { logAccess: LogAccess };
