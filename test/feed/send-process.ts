// A process that sends to destinations: node --import tsx send-process.ts <url of the database> <times>
import { Kysely, PostgresDialect } from 'kysely';
import { families } from '../../src/callbacks/families/index.ts';
import { createLog } from '../../src/common/log.ts';
import { sendWebhooks } from '../../src/feed/send.ts';
import type { Core } from '../../src/receiver/feature.ts';
import { openPool } from '../../src/receiver/store/pools.ts';
import type { Tables } from '../../src/receiver/store/tables.ts';

const log = createLog('silent');
const pool = openPool(process.argv[2]!, log, { name: 'sender', connections: 4, connectTimeoutMs: 60_000 });
const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
const config = { times: JSON.parse(process.argv[3]!) };
const core = { config, families, db, pool, log } as unknown as Core;
await sendWebhooks(core, new AbortController().signal);
