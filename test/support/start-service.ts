import { startParts } from '../../src/app/start-parts.ts';
import { families } from '../../src/callbacks/families/index.ts';
import { createLog } from '../../src/common/log.ts';
import { startReceiver } from '../../src/receiver/receiver.ts';
import { type Overrides, testConfig } from './service.ts';

export async function startService(databaseUrl: string, overrides: Overrides) {
  const log = createLog('silent');
  const options = { databaseUrl, families, log };
  const { result, stop } = await startParts((onStop) =>
    startReceiver(testConfig(overrides), options, onStop),
  );
  return { url: result.url, stop };
}
