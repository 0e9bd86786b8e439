// A process that begins an erasure, and says so after each step: node --import tsx erase-once.ts <url of the database> <subject>
import { Kysely, PostgresDialect } from 'kysely';
import { createLog } from '../../src/common/log.ts';
import { erasePatient } from '../../src/privacy/erase.ts';
import { openPool } from '../../src/receiver/store/pools.ts';
import { coreOf } from '../support/core.ts';
import type { ReceiverDatabase } from '../support/receiver-database.ts';

const [, , url, subject] = process.argv;
const pool = openPool(url!, createLog('silent'), { name: 'once', connections: 2, connectTimeoutMs: 60_000 });
const db = new Kysely({ dialect: new PostgresDialect({ pool }) });
const onProgress = () => process.stdout.write('step\n');
await erasePatient(coreOf({ db, pool } as ReceiverDatabase), { id: 'somebody' }, [subject!], { onProgress });
await pool.end();
