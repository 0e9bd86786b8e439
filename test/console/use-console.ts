import { createLog } from '../../src/common/log.ts';
import type { Config } from '../../src/config/config.ts';
import { families } from '../../src/families/index.ts';
import { type Service, startService } from '../../src/service/service.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { type ServiceOptions, testConfig, useService } from '../support/service.ts';
import { adminToken, setDatabase, signInTo, type Visitor } from './visitor.ts';

type Running = Service & { url: string };

export interface TestConsole {
  database: TestDatabase;
  service: Running;
  /** Signed in to the service. */
  visitor: Visitor;
  /** The lines of the receiver's log. */
  logged: string[];
  /** Another receiver on the same database, for one test. */
  startAnother: (options: ServiceOptions) => Promise<Running>;
}

export interface ConsoleOptions {
  /** Fills the database before the receiver starts; returns further configuration. */
  prepare?: (database: TestDatabase) => Promise<Partial<Config>>;
}

/**
 * A receiver with a console on a database of its own, for all tests of a file or a `describe`. The returned objects
 * are usable from the first test on, and closed after the last.
 */
export function useConsole({ prepare }: ConsoleOptions = {}): TestConsole {
  const [database, service, visitor] = [{} as TestDatabase, {} as Running, {} as Visitor];
  const logged: string[] = [];
  beforeAll(async () => {
    Object.assign(database, await createDatabase());
    const own = await prepare?.(database);
    const config = testConfig({ databaseUrl: database.url, role: 'receiver', adminToken, ...own });
    const log = createLog('info', { write: (line) => void logged.push(line) });
    Object.assign(service, await startService(config, families, log));
    setDatabase(service.url, database);
    Object.assign(visitor, await signInTo(service.url));
  });
  afterAll(async () => {
    await service.stop();
    await database.close();
  });
  const { start } = useService({ on: database });
  const startAnother = (another: ServiceOptions) => start({ role: 'receiver', ...another });
  return { database, service, visitor, logged, startAnother };
}
