import { createLog } from '../../src/common/log.ts';
import { openDatabase } from '../../src/store/database.ts';
import { startTestServer } from './test-server.ts';

export type OwnServer = Awaited<ReturnType<typeof startOwnServer>>;

/** A server of this test alone, with the receiver's tables and settings of its own. */
export async function startOwnServer(settings: readonly string[] = []) {
  const { url, rows, stop } = await startTestServer(settings, { state: 'migrated' });
  const database = openDatabase(url, createLog('silent'), { connections: 5, name: 'test' });
  return {
    url,
    rows,
    database,
    stop: async (): Promise<void> => {
      await database.close();
      await stop();
    },
  };
}
