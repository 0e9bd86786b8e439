import type { Kysely } from 'kysely';
import type { Family } from '../families/index.ts';
import type { Attempts } from '../http/admin.ts';
import type { Readiness } from '../readiness.ts';
import type { ReadmitParts } from '../intake/intake.ts';
import type { Log } from '../log.ts';
import type { DeliveryQueue } from '../queue/delivery-queue.ts';
import type { DeliveryStatus, Tables } from '../store/tables.ts';
import type { DownloadLimits } from './reports/csv.ts';

/** What the console is made of; the composition root puts it together. */
export interface ConsoleParts {
  adminToken: string;
  /** How many proxies stand in front. */
  trustProxy: number;
  /** The time zone that times are shown in, of the IANA database. */
  timezone: string;
  databaseUrl: string;
  families: readonly Family[];
  attempts: Attempts;
  downloads: DownloadLimits;
  readiness: () => Promise<Readiness>;
  /** Takes bodies of the quarantine in. */
  readmission: ReadmitParts & { inbox: NonNullable<ReadmitParts['inbox']> };
  replay: Replay;
  queue: Pick<DeliveryQueue, 'opened' | 'store'>;
  log: Log;
}

/** Which deliveries are to be applied again. */
export interface ReplayFilter {
  status: DeliveryStatus;
  family?: string | undefined;
  event?: string | undefined;
  businessId?: string | undefined;
  id?: string | undefined;
  error?: string | undefined;
  since?: Date | undefined;
  until?: Date | undefined;
}

/** Applies deliveries again, in chunks, and says what became of each chunk. */
export interface Replay {
  count: (db: Kysely<Tables>, filter: ReplayFilter) => Promise<number>;
  run: (db: Kysely<Tables>, filter: ReplayFilter, options: { dryRun: boolean }) => AsyncIterable<Replayed>;
}

export interface Replayed {
  applied: number;
  /** Rows that changed. */
  changed: number;
  failed: { id: string; error: string }[];
}
