import type pg from 'pg';
import { print, printCounts, printTable, withProgress } from '../../common/terminal.ts';
import type { Core, Feature } from '../../receiver/feature.ts';
import { gateLock } from '../../receiver/gate/gate.ts';
import { OtherFamilies } from '../../receiver/store/errors.ts';
import { commandActor, logAccess } from '../../receiver/store/log-access.ts';
import { inTransaction, openPool, snapshot } from '../../receiver/store/pools.ts';
import { embeddedFolder, hasDatabase } from '../place.ts';
import { tryConnection } from '../server-process.ts';
import { startEmbeddedPostgres } from '../start-embedded.ts';
import { copyRows } from './copy.ts';
import { moveCallbacks } from './move-callbacks.ts';
import { openVersion1 } from './version-1.ts';
import { openVersion2 } from './version-2.ts';

export const move: Feature = {
  name: 'move',
  commands: (program, onCore) => {
    program
      .command('move')
      .description(
        'bring what another database of the receiver has, beside incoming callbacks; may be repeated',
      )
      .requiredOption('--from <database>', 'its URL, with its owner; or the DATA_DIR of an embedded one')
      .action(onCore(run));
  },
};

async function run(core: Core, { from }: { from: string }): Promise<void> {
  const isUrl = /^postgres(ql)?:\/\//.test(from);
  // That of version 1, else of this one.
  const folder = isUrl ? undefined : [from, embeddedFolder(from)].find(hasDatabase);
  if (!isUrl && !folder)
    throw new Error('--from must be a URL of PostgreSQL, or the DATA_DIR of an embedded database');
  const fault = isUrl && (await tryConnection(from));
  if (fault) throw new Error('--from cannot be reached', { cause: fault });
  const tables = await core.pool.query(`select from pg_class where oid = to_regclass('receiver.inbox')`);
  if (tables.rowCount === 0) throw new Error('This database has no tables yet: run receiver migrate first');
  const embedded = folder ? await startEmbeddedPostgres(folder, core.log) : undefined;
  const options = { name: 'receiver move', connections: 1, connectTimeoutMs: 10_000 };
  const pool = openPool(embedded?.url ?? from, core.log, options);
  try {
    await moveAll(core, pool);
  } finally {
    await pool.end();
    await embedded?.stop();
  }
}

const first = `${snapshot};
  set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0`;

/** Interrupted, it may be run again. It reads one snapshot of the source and writes nothing there. */
async function moveAll(core: Core, source: pg.Pool): Promise<void> {
  const { families, copied, losses } = await inTransaction(source, first, (client) =>
    copySource(core, client),
  );
  // What was stored long ago is new here.
  await core.db.deleteFrom('receiver.settings').where('name', '=', 'stale_merged').execute();
  await withProgress('callbacks merged', undefined, ({ advance }) => mergeWaiting(core, advance));
  printTable(
    ['family', 'stored now', 'refused'],
    Object.entries(families).map(([name, counts]) => [name, ...Object.values(counts)]),
  );
  printCounts(copied);
  print('What is refused by the current rules is in the quarantine: receiver quarantine list');
  print(
    `Not brought:${losses}\n- sessions, positions of the feed, counts of resends and drift, times of outages`,
  );
  print('If the other database still received callbacks meanwhile, run this again.');
}

async function copySource(core: Core, client: pg.ClientBase) {
  const { rows } = await client.query<{ version: 1 | 2 | null; from: string }>(
    `select case when to_regclass('receiver.inbox') is not null then 2 when to_regclass('applied_deliveries') is not null then 1 end
       as version, current_database() as from`,
  );
  const { version, from } = rows[0]!;
  if (!version) throw new Error('--from is no database of the receiver');
  const source = await (version === 2 ? openVersion2 : openVersion1)(core, client);
  await logAccess(core, { actor: commandActor(), action: 'move', filter: { from } });
  const copied: Record<string, number> = {};
  for (const copy of source.rules) copied[copy.name] = await copyRows(core, client, copy, gateLock(30_000));
  const total = await client.query<{ count: number }>(`select count(*)::int from (${source.callbacks}) c`);
  const families = await withProgress('callbacks moved', total.rows[0]!.count, ({ advance }) =>
    moveCallbacks(core, client, source.callbacks, advance),
  );
  for (const copy of source.others) copied[copy.name] = await copyRows(core, client, copy, '');
  const losses = await client.query<{ count: number | null; what: string }>(source.losses);
  const lines = losses.rows
    .filter(({ count }) => count !== 0)
    .map(({ count, what }) => `\n- ${[count, what].filter(Boolean).join(' ')}`);
  return { families, copied, losses: lines.join('') };
}

/** No worker needs to run. @throws OtherFamilies */
async function mergeWaiting({ families, merge }: Core, onProgress: (count: number) => void): Promise<void> {
  for (const { name } of families)
    for (let isLeft = true; isLeft; ) {
      const { outcome, reason, merged, isFull } = await merge(name);
      if (outcome === 'foreign') throw new OtherFamilies();
      if (outcome === 'broken') print(`${name} waits to be merged by a worker: ${reason}`);
      onProgress(merged);
      isLeft = outcome === 'busy' || (outcome === 'done' && isFull);
    }
}
