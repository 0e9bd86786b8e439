import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { printable } from '../common/printable.ts';
import { backUp } from '../store/embedded/backup.ts';
import { findPlace } from '../store/embedded/place.ts';
import { adminPasswordFile, adminUrl } from '../store/embedded/roles.ts';
import { print, withProgress } from './output.ts';
import { type AddCommand, logCommand, withDatabase } from './with-database.ts';

export const addBackupCommand: AddCommand = (program, env) => {
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
      return withDatabase(env, async ({ config, db, url }) => {
        await logCommand(db, { action: 'backup', filter: {} });
        const { home } = findPlace(config.dataDir);
        const beside = [
          join(home, 'password'),
          adminPasswordFile(home),
          join(config.dataDir, 'admin-token'),
        ].filter(existsSync);
        let copied = 0;
        const isChecked = await withProgress('MB copied', undefined, ({ setTotal, advance }) =>
          backUp(adminUrl(home, url), join(home, 'database'), beside, resolve(to), {
            onTotal: (bytes) => setTotal(Math.round(bytes / 1e6)),
            onCopied: (bytes) => {
              copied += bytes;
              advance(bytes / 1e6);
            },
          }),
        );
        print(`${printable(to)} written: ${Math.round(copied / 1e6)} MB`);
        if (!isChecked) {
          print(
            'This database was made without checksums of its pages: damage by a disk is neither noticed nor excluded. ' +
              'To have them, move it: see docs/backup.md',
          );
        }
      });
    });
};
