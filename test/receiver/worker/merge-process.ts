// A process that merges receipts once: node --import tsx merge-process.ts <url of the database>

import { families } from '../../../src/callbacks/families/index.ts';
import { createLog } from '../../../src/common/log.ts';
import { openPool } from '../../../src/receiver/store/pools.ts';
import { createMerge } from '../../../src/receiver/worker/merge.ts';

const log = createLog('silent');
const pool = openPool(process.argv[2]!, log, { name: 'once', connections: 1, connectTimeoutMs: 60_000 });
await createMerge({ pool, families, log })('receipt');
await pool.end();
