import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { provideAdminToken } from '../../src/commands/admin-token.ts';
import { createLog } from '../../src/common/log.ts';
import { backUp } from '../../src/store/embedded/backup.ts';
import { provideBinaries } from '../../src/store/embedded/binaries.ts';
import { startEmbeddedPostgres } from '../../src/store/embedded/index.ts';
import { markMoved } from '../../src/store/embedded/moved.ts';
import { findPlace, type ServerUser } from '../../src/store/embedded/place.ts';
import { adminPasswordFile, adminUrl } from '../../src/store/embedded/roles.ts';
import { copyCluster } from '../support/cluster.ts';
import { rowsOf } from '../support/everything.ts';

jest.setTimeout(600_000);

// Run by an ordinary user, these tests have one user: what they say of several is then true of itself.
const isRoot = process.getuid?.() === 0;
const self = { uid: process.getuid!(), gid: process.getgid!() };
const log = createLog('silent');
const folders: string[] = [];
const servers: { stop: () => Promise<void> }[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A folder with the server's programs that every user may enter. */
const everybodys = mkdtempSync(join(tmpdir(), 'receiver-programs-'));
beforeAll(async () => {
  chmodSync(everybodys, 0o755);
  await provideBinaries(everybodys);
});
afterAll(() => rmSync(everybodys, { recursive: true }));

function newFolder(): string {
  folders.push(mkdtempSync(join(tmpdir(), 'receiver-links-')));
  return folders.at(-1)!;
}

const serverUser = (): ServerUser => findPlace(newFolder()).user ?? self;
const otherUser: ServerUser = isRoot ? { uid: 40_000, gid: 40_000 } : self;

/** A DATA_DIR as earlier releases left it: everything but a few files is of the server's user. */
function formerFolder(user: ServerUser): string {
  const folder = newFolder();
  copyCluster(folder);
  const programs = readdirSync(folder).find((name) => name.startsWith('postgresql-'))!;
  rmSync(join(folder, programs));
  symlinkSync(join(everybodys, programs), join(folder, programs));
  for (const path of [folder, join(folder, 'password')]) chownSync(path, user.uid, user.gid);
  execFileSync('chown', ['-hR', `${user.uid}:${user.gid}`, join(folder, 'database')]);
  for (const name of ['owner', 'port', 'connection-url'])
    writeFileSync(join(folder, name), '1', { mode: 0o600 });
  return folder;
}

async function start(folder: string) {
  const server = await startEmbeddedPostgres(folder, log, ['fsync=off']);
  servers.push(server);
  return server;
}

/** A file and a folder that only their owner may touch. */
function victims() {
  const folder = newFolder();
  const [file, inside] = [join(folder, 'secret'), join(folder, 'folder/secret')];
  mkdirSync(join(folder, 'folder'), { mode: 0o700 });
  for (const path of [file, inside]) writeFileSync(path, 'SECRET', { mode: 0o600 });
  chmodSync(folder, 0o755);
  const state = () =>
    [file, inside, join(folder, 'folder')].map((path) => {
      const { uid, gid, mode } = statSync(path);
      return { path, uid, gid, mode, content: path.endsWith('secret') && readFileSync(path, 'utf8') };
    });
  const before = state();
  return { file, folder: join(folder, 'folder'), before, state };
}

/** Does everything that a service and its commands do in a DATA_DIR. */
async function useFolder(folder: string): Promise<string[]> {
  const errors: string[] = [];
  const step = (act: () => unknown) =>
    Promise.resolve()
      .then(act)
      .catch((error) => errors.push(String(error)));
  await step(() =>
    provideAdminToken({ adminToken: undefined, databaseUrl: undefined, dataDir: folder, role: 'all' }),
  );
  await step(async () => {
    const { url } = await start(folder);
    const to = join(newFolder(), 'backup');
    const beside = [join(folder, 'password'), adminPasswordFile(folder)];
    await step(() =>
      backUp(adminUrl(folder, url), join(folder, 'database'), beside, to, {
        onTotal: () => {},
        onCopied: () => {},
      }),
    );
    if (existsSync(to)) expect(spawnSync('grep', ['-r', 'SECRET', to]).status).toBe(1);
  });
  for (const server of servers.splice(0)) await server.stop();
  await step(() => markMoved(folder, 'elsewhere'));
  return errors;
}

const written = ['password', 'admin-password', 'admin-token', 'owner', 'port', 'connection-url', 'moved'];
const files = [
  ...written,
  ...written.map((name) => `${name}.${process.pid}`),
  'postgresql.log',
  'database/base/4711',
  'database/global/4711',
  'database/postmaster.pid',
  'database/PG_VERSION',
];
const trees = [
  'database',
  'database.4711',
  'database.draft',
  `database.${process.pid}`,
  'postgresql-18.0.0.4711',
];

it.each([
  // Those that a start refuses to read are planted alone: the others need a start that goes on.
  ['as earlier releases left it', serverUser, []],
  ['of another user', () => otherUser, ['password', 'admin-password', 'port', 'moved']],
])(
  'root follows no link in a DATA_DIR %s: whatever it reads, writes, gives away or removes',
  async (_, userOf, more) => {
    const user = userOf();
    // A backup reads the first ones.
    const expected = more.length > 0 ? /(base|global)\/4711|admin-token/ : /(base|global)\/4711/;
    const refused = ['database', 'database/postmaster.pid', 'database/PG_VERSION', ...more];
    const plans = (['file', 'folder', 'hard'] as const).flatMap((kind) => {
      const paths = kind === 'folder' ? trees : files;
      const alone = paths.filter((path) => refused.includes(path)).map((path) => [path]);
      return [...alone, paths.filter((path) => !refused.includes(path))].map((group) => ({ kind, group }));
    });
    for (const plan of plans) {
      const folder = formerFolder(user);
      const victim = victims();
      for (const path of plan.group) {
        const at = join(folder, path);
        rmSync(at, { recursive: true, force: true });
        if (plan.kind === 'hard') linkSync(victim.file, at);
        else symlinkSync(victim[plan.kind], at);
        if (plan.kind !== 'hard') lchownSync(at, user.uid, user.gid);
      }
      const errors = await useFolder(folder);
      const copies = String(spawnSync('grep', ['-rl', 'SECRET', folder]).stdout)
        .split('\n')
        .filter((path) => path && lstatSync(path).ino !== statSync(victim.file).ino);
      expect([plan, victim.state(), copies]).toEqual([plan, victim.before, []]);
      expect(errors.join()).not.toContain('SECRET');
      if (isRoot && plan.group.length === 1)
        expect([plan, errors.join()]).toEqual([plan, expect.stringContaining('as root, it is not followed')]);
      else if (isRoot) expect([plan, errors.filter((error) => !expected.test(error))]).toEqual([plan, []]);
    }
  },
);

it("a DATA_DIR that root or an earlier release made is root's: the database may write in its own folder only, and reads no secret", async () => {
  const user = serverUser();
  const folder = formerFolder(user);
  const { password } = { password: readFileSync(join(folder, 'password'), 'utf8') };
  const { url } = await start(folder);
  expect(await rowsOf(url, 'select 1 as one')).toEqual([{ one: 1 }]);
  expect(new URL(url).password).toBe(password); // that of the existing data
  provideAdminToken({ adminToken: undefined, databaseUrl: undefined, dataDir: folder, role: 'all' });
  const may = (command: string) =>
    spawnSync('/bin/sh', ['-c', command], { ...(isRoot && user), cwd: join(folder, 'database') }).status ===
    0;
  expect(may('test -w . && test -r PG_VERSION')).toBe(true);
  const secrets = ['password', 'admin-token', 'owner', 'port', 'connection-url', 'postgresql.log'];
  for (const name of secrets) {
    expect([name, may(`test -r ../${name}`)]).toEqual([name, !isRoot]);
    expect([name, may(`test -w ../${name}`)]).toEqual([name, !isRoot]);
  }
  expect(may('test -w ..')).toBe(!isRoot);
  const owned = readdirSync(folder).filter((name) => lstatSync(join(folder, name)).uid === user.uid);
  if (isRoot) expect(owned).toEqual(['database']);
});

it('a first start of root gives the database its folder alone', async () => {
  const folder = newFolder();
  const { home, user } = findPlace(folder);
  await provideBinaries(home);
  await start(folder);
  const owners = Object.fromEntries(readdirSync(home).map((name) => [name, lstatSync(join(home, name)).uid]));
  expect(owners).toMatchObject({
    database: user?.uid ?? self.uid,
    password: self.uid,
    'postgresql.log': self.uid,
  });
  expect(Object.values(owners).filter((uid) => uid !== self.uid)).toHaveLength(isRoot ? 1 : 0);
});

it("what root starts in a DATA_DIR of another user stays that user's, who can start it again", async () => {
  const folder = formerFolder(otherUser);
  await start(folder);
  await servers.pop()!.stop();
  const isReadable = (path: string) =>
    spawnSync('test', ['-r', join(folder, path)], isRoot ? otherUser : {}).status === 0;
  expect(lstatSync(folder).uid).toBe(otherUser.uid);
  for (const name of ['password', 'port', 'connection-url', 'database']) {
    expect([name, isReadable(name)]).toEqual([name, true]);
  }
});

it('a folder that several users share is no DATA_DIR of root', () => {
  const folder = newFolder();
  chmodSync(folder, 0o1777);
  if (isRoot) expect(() => findPlace(folder)).toThrow('is shared by several users');
  else expect(findPlace(folder).home).toBe(folder);
  expect(statSync(folder).mode & 0o7777).toBe(0o1777);
});
