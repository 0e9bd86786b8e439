import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statfsSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { hostname, platform } from 'node:os';
import { join } from 'node:path';
import { syncFolder } from '../../common/durable-files.ts';
import type { Place } from './place.ts';

/**
 * The right to start a server on a folder. It is a listening socket in the folder, which the programs that are started with
 * `fd` inherit. So the system itself, and no process id in a file, tells whether anything that uses the data still runs:
 * connections are refused when the last process has ended, however it ended, in whatever container of this machine.
 */
export interface Lock {
  /** For the `stdio` of programs that use the data; undefined where the system has no such sockets. */
  fd: number | undefined;
  /** Whether former holders were found. They have ended. */
  hasFormer: boolean;
  /** Removes the proof that they have ended. */
  forgetFormer: () => void;
  release: () => Promise<void>;
}

/** The owner of a lock: a process in this namespace of process ids, or one in another container. */
export type Holder = 'here' | 'elsewhere';

const locks = /^lock\.[0-9a-f]+\.[0-9a-f]+$/;

// ext, XFS, Btrfs, F2FS, bcachefs, ZFS, tmpfs, overlay: only one machine at a time can have them mounted.
const localTypes = new Set([
  0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0xca451a4e, 0x2fc12fc1, 0x01021994, 0x794c7630,
]);

/** Whether no other machine can use a folder at the same time. */
export const isLocal = (folder: string): boolean => localTypes.has(statfsSync(folder).type);

/**
 * Takes the lock of a folder. Each lock has a name of its own, which is never used again: removing that of a process that has
 * ended cannot hit another one. Of two that are taken at once, each finds the other, and both are given up.
 *
 * @returns the holder while another process has it
 * @throws Error where it is unknown whether a former holder has ended, as on another machine
 */
export async function takeLock({ home, user }: Place): Promise<Lock | Holder> {
  if (platform() === 'win32')
    return { fd: undefined, hasFormer: false, forgetFormer: () => {}, release: async () => {} };
  const folder = openSync(home, 'r');
  // The name of a socket has at most 107 bytes.
  const at = platform() === 'linux' ? `/proc/self/fd/${folder}` : home;
  try {
    const holder = await findFormer(home, at);
    if (typeof holder === 'string') return holder;
    const id = randomBytes(6).toString('hex');
    const [draft, name] = [`lock-draft.${id}`, `lock.${origin()}.${id}`];
    const server = createServer((socket) => socket.destroy());
    // Whoever may enter the folder may find out that the lock is held: its owner, too, where root takes it.
    const mask = user && process.umask(0);
    const listening = once(server.listen(join(at, draft)), 'listening');
    if (mask !== undefined) process.umask(mask);
    await listening.catch((error) => {
      throw new Error(`DATA_DIR must be on a file system that can have sockets: ${error.message}`);
    });
    server.unref();
    // Under its name it is listening: it is never mistaken for that of a process that has ended.
    renameSync(join(home, draft), join(home, name));
    syncFolder(home);
    const release = async () => {
      rmSync(join(home, name), { force: true });
      await once(server.close(), 'close');
    };
    const former = await findFormer(home, at, name).catch(async (error) => {
      await release();
      throw error;
    });
    if (typeof former === 'string') {
      await release();
      return former;
    }
    const { fd } = (server as unknown as { _handle: { fd: number } })._handle;
    const forgetFormer = () => {
      for (const other of former) rmSync(join(home, other), { force: true });
    };
    return { fd, hasFormer: former.length > 0, forgetFormer, release };
  } finally {
    closeSync(folder);
  }
}

/** The locks of former holders, or who has one of them. */
async function findFormer(home: string, at: string, own?: string): Promise<string[] | Holder> {
  const names = readdirSync(home).filter((name) => locks.test(name) && name !== own);
  const isForeign = (name: string) => !name.startsWith(`lock.${origin()}.`);
  for (const name of names) {
    if (await isHeld(join(at, name))) return isForeign(name) ? 'elsewhere' : 'here';
  }
  const foreign = names.find(isForeign);
  if (!foreign || isLocal(home)) return names;
  throw new Error(
    `${join(home, foreign)} is of another machine or container, and on this file system nothing tells whether that has ended. ` +
      'Make sure that nothing else uses this folder, delete that file, and start again',
  );
}

async function isHeld(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    // Connections that nobody accepts fill the queue, as that of a server whose service was killed; or it is being closed.
    if (['EAGAIN', 'ECONNRESET'].includes(code)) return true;
    if (['ECONNREFUSED', 'ENOENT'].includes(code)) return false;
    throw new Error(`Whether DATA_DIR is in use could not be found out: ${message}`);
  } finally {
    socket.destroy();
  }
}

/** Where this process runs: its machine, the boot of it, and its namespace of process ids. */
function origin(): string {
  const boot = '/proc/sys/kernel/random/boot_id';
  const text = existsSync(boot) ? readFileSync(boot, 'utf8') + readlinkSync('/proc/self/ns/pid') : hostname();
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
