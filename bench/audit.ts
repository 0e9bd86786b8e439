import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '../src/common/log.ts';
import { verifyLog } from '../src/privacy/log/verify-log.ts';
import { openDatabase } from '../src/store/database.ts';
import { startEmbeddedPostgres } from '../src/store/embedded/index.ts';
import { migrate } from '../src/store/migrate.ts';

/** Prints how long `receiver audit verify` takes: `npx tsx bench/audit.ts [entries]`. */
const entries = Number(process.argv[2] ?? 1_000_000);
const folder = mkdtempSync(join(tmpdir(), 'receiver-audit-'));
const log = createLog('error');
const server = await startEmbeddedPostgres(folder, log);
const { db, pool, close } = openDatabase(server.url, log, { connections: 2, name: 'bench' });
try {
  await migrate(db);
  await pool.query(
    `with recursive chain as (
       select 0::bigint as entry, now() - interval '300 days' as at, '{}'::bytea[] as patients, ''::bytea as previous, hash
       from access_log_head
       union all
       select entry + 1, at + interval '20 seconds', next.patients, hash,
              access_log_hash(hash, entry + 1, at + interval '20 seconds', 'somebody@clinic.example', 'Some Body', '10.0.0.1',
                              'reveal', next.patients, '{"page": "receipts"}', 3)
       from chain, lateral (select array[sha256(hash), sha256(hash || 'b'), sha256(hash || 'c')] as patients) next
       where entry < $1
     ), filled as (
       insert into access_log
       select entry, at, 'somebody@clinic.example', 'Some Body', '10.0.0.1', 'reveal', patients, '{"page": "receipts"}', 3,
              previous, hash
       from chain where entry > 0
       returning entry, hash
     )
     update access_log_head h set entry = f.entry, hash = f.hash from filled f where f.entry = $1`,
    [entries],
  );
  await pool.query('vacuum analyze access_log');
  for (let round = 1; round <= 3; round += 1) {
    const began = performance.now();
    const head = await verifyLog(db, {
      onProblem: ({ from, to, problem }) => {
        throw new Error(`${from} to ${to}: ${problem}`);
      },
    });
    const seconds = (performance.now() - began) / 1000;
    process.stdout.write(`${head.entry} entries verified in ${seconds.toFixed(1)} s\n`);
  }
} finally {
  await close();
  await server.stop();
  rmSync(folder, { recursive: true });
}
