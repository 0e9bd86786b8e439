import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { printable } from '../common/printable.ts';
import type { Environment } from '../config/config.ts';
import { backUp } from '../store/embedded/backup.ts';
import { findPlace } from '../store/embedded/place.ts';
import { adminPasswordFile, adminUrl } from '../store/embedded/roles.ts';
import { logCommand } from './log-command.ts';
import { startProgress } from './progress.ts';
import { withDatabase } from './with-database.ts';

/** `receiver backup`: copies the embedded database while it runs. */
export function addBackupCommand(program: Command, env: Environment): void {
  program
    .command('backup')
    .description('copy the embedded database while it runs; it contains personal data (see docs/backup.md)')
    .requiredOption('--to <folder>', 'the folder to create')
    .action(({ to }: { to: string }) => {
      if (env.DATABASE_URL) {
        throw new Error(
          'DATABASE_URL is set, and this backs up the embedded database. Use pg_dump: see docs/backup.md',
        );
      }
      return withDatabase(env, async ({ config, database }) => {
        await logCommand(database.db, { action: 'backup', filter: {} });
        const { home } = findPlace(config.dataDir);
        const beside = [
          join(home, 'password'),
          adminPasswordFile(home),
          join(config.dataDir, 'admin-token'),
        ].filter(existsSync);
        let progress: ReturnType<typeof startProgress> | undefined;
        let copied = 0;
        const checked = await backUp(
          adminUrl(home, database.url),
          join(home, 'database'),
          beside,
          resolve(to),
          {
            onTotal: (bytes) => {
              progress = startProgress(Math.round(bytes / 1e6), 'MB copied');
            },
            onCopied: (bytes) => {
              const before = Math.round(copied / 1e6);
              copied += bytes;
              progress?.advance(Math.round(copied / 1e6) - before);
            },
          },
        ).finally(() => progress?.stop());
        process.stdout.write(`${printable(to)} written: ${Math.round(copied / 1e6)} MB\n`);
        if (!checked) {
          process.stdout.write(
            'This database was made without checksums of its pages: damage by a disk is neither noticed nor excluded. ' +
              'To have them, move it: see docs/backup.md\n',
          );
        }
      });
    });
}
