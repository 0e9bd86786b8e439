import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '../../src/common/log.ts';
import { startEmbeddedPostgres } from '../../src/store/embedded/index.ts';
import { childrenOf, isServerOf, readLockFile } from '../../src/store/embedded/processes.ts';
import { adminUrl } from '../../src/store/embedded/roles.ts';
import { tryConnection } from '../../src/store/embedded/server-process.ts';
import { isRecovering } from '../../src/store/embedded/supervise.ts';
import { type FaultyDisk, makeFaultyDisk, useDisk, whyNoFaultyDisk } from '../chaos/faulty-disk.ts';
import { copyCluster } from '../support/cluster.ts';
import { rowsOf } from '../support/everything.ts';
import { until } from '../support/until.ts';

/** Needs Linux and a C compiler. */
const itOnFaultyDisk = whyNoFaultyDisk() ? () => {} : it;

let folder: string;
let disk: FaultyDisk;
let server: Awaited<ReturnType<typeof startEmbeddedPostgres>>;
let lines: { level: number; msg: string; signal?: string }[];
const messages = () => lines.filter(({ level }) => level > 30).map(({ msg }) => msg);
const database = () => join(folder, 'database');
const pid = () => readLockFile(database())!.pid;

beforeEach(async () => {
  if (whyNoFaultyDisk()) return;
  disk = makeFaultyDisk();
  folder = mkdtempSync(join(tmpdir(), 'receiver-hung-'));
  chmodSync(folder, 0o755);
  copyCluster(folder);
  await useDisk(folder, disk);
  lines = [];
  const log = createLog('info', { write: (line) => void lines.push(JSON.parse(line)) });
  server = await startEmbeddedPostgres(folder, log);
  await rowsOf(server.url, 'create table kept as select 42 as n');
});

afterEach(async () => {
  disk?.set('none');
  await server?.stop();
  disk?.remove();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

/**
 * The sync of the WAL fails, and again in the recovery: PostgreSQL 18 waits for its own processes for ever. Where its main
 * process learns of the failure before it has learned that the recovery began, it ends instead: then once more.
 */
async function hang(): Promise<number> {
  for (;;) {
    const stuck = pid();
    const panics = () => readFileSync(join(folder, 'postgresql.log'), 'utf8').split('PANIC:').length - 1;
    const before = panics();
    disk.set('failing sync', '*/pg_wal/*');
    await rowsOf(server.url, 'create table lost as select 1').catch(() => {});
    // The second is that of the recovery.
    const isReaped = () => childrenOf(stuck).every(({ command }) => command !== '');
    await until(() => panics() > before + 1 && !isRecovering(stuck) && isReaped());
    const hasEnded = () => isServerOf(database(), stuck) === false;
    await until(async () => hasEnded() || (await tryConnection(server.url))?.code === '57P03');
    disk.set('none');
    if (!hasEnded()) return stuck;
    await until(async () => !(await tryConnection(server.url)));
    await until(() => lines.some(({ msg }) => msg === 'embedded PostgreSQL runs again'));
    lines = [];
  }
}

itOnFaultyDisk(
  'a server that is stuck after a failed recovery is ended and started again, with every row',
  async () => {
    const stuck = await hang();
    const left = childrenOf(stuck).map((child) => child.pid);
    expect(left.length).toBeGreaterThan(0);
    await until(async () => !(await tryConnection(server.url)));
    expect(await rowsOf(server.url, 'select n from kept')).toEqual([{ n: 42 }]);
    await until(() => ![stuck, ...left].some((each) => isServerOf(database(), each)));
    await until(() => lines.some(({ msg }) => msg === 'embedded PostgreSQL runs again'));
    expect(messages().filter((message) => message.startsWith('embedded'))).toEqual([
      'embedded PostgreSQL could not recover, and was ended; restarting it',
    ]);
  },
);

itOnFaultyDisk(
  'the stop of a server that is stuck, and whose shutdown hangs, ends all its processes',
  async () => {
    const stuck = await hang();
    const left = childrenOf(stuck).map((child) => child.pid);
    await server.stop();
    await until(() => ![stuck, ...left].some((each) => isServerOf(database(), each)));
    expect(lines.filter(({ msg }) => msg === 'embedded PostgreSQL does not stop')).toMatchObject([
      { signal: 'SIGINT' },
    ]);
    expect(existsSync(join(folder, 'owner'))).toBe(false);
  },
);

itOnFaultyDisk('what a killed server has left behind has ended before another is started', async () => {
  const lineOf = 'x'.repeat(5_000);
  await rowsOf(
    server.url,
    `create table filled as select '${lineOf}' || n as line from generate_series(1, 20000) n`,
  );
  const former = pid();
  disk.set('slow', '*/database/base/*');
  const checkpoint = rowsOf(adminUrl(folder, server.url), 'checkpoint').catch(() => {});
  const isCheckpointing =
    "select from pg_stat_activity where backend_type = 'checkpointer' and wait_event like 'DataFile%'";
  await until(async () => (await rowsOf(server.url, isCheckpointing)).length > 0);
  const left = childrenOf(former).map((child) => child.pid);
  process.kill(former, 'SIGKILL');
  await until(() => readLockFile(database()) && pid() !== former);
  expect(left.filter((each) => isServerOf(database(), each))).toEqual([]);
  disk.set('none');
  await until(async () => !(await tryConnection(server.url)));
  expect(await rowsOf(server.url, 'select count(*)::int as n from filled')).toEqual([{ n: 20_000 }]);
  await checkpoint;
});
