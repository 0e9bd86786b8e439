import type { IncomingMessage } from 'node:http';
import type { Family } from '../families/index.ts';
import type { Intake } from '../intake/intake.ts';
import type { Log } from '../log.ts';
import type { DeliveryQueue } from '../queue/delivery-queue.ts';
import type { Readiness } from '../readiness.ts';
import type { DownloadLimits } from './reports/csv.ts';

/** What the console is made of; the composition root puts it together. */
export interface ConsoleDependencies {
  adminToken: string;
  /** How many proxies stand in front. */
  trustProxy: number;
  /** The time zone that times are shown in, of the IANA database. */
  timezone: string;
  databaseUrl: string;
  families: readonly Family[];
  /**
   * Whether this is the admin token; a wrong one counts against the request's address.
   *
   * @throws TooManyRequests
   */
  verifyToken: (req: IncomingMessage, given: string) => boolean;
  downloads: DownloadLimits;
  readiness: () => Promise<Readiness>;
  intake: Pick<Intake, 'replay'>;
  queue: Pick<DeliveryQueue, 'bullmq' | 'store'>;
  log: Log;
}
