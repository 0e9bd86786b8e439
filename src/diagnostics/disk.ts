import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { freeDisk } from '../store/embedded/free-disk.ts';
import type { Check } from './finding.ts';

const gibibyte = 2 ** 30;

/** The disk of the embedded database; that of a server cannot be seen from here. */
export const checkDisk: Check = async ({ config, invalid }, report) => {
  if (config.databaseUrl || invalid.has('DATABASE_URL')) return;
  const { folder, bytes } = await freeDisk(config.dataDir);
  const free = bytes / gibibyte;
  const text = `${free.toFixed(1)} GiB free at DATA_DIR`;
  // PostgreSQL stops where it cannot write its log; the burst of preallocated files needs a quarter of a gibibyte.
  if (free < 0.25)
    report('fail', 'disk', `${text}. Free some, or move DATA_DIR: a full disk stops the database`);
  else if (free < 1) report('warn', 'disk', `${text}. Free some: a full disk stops the database`);
  else report('ok', 'disk', text);
  await access(folder, constants.W_OK).catch(() =>
    report('fail', 'disk', `${folder} cannot be written by this user. Change its owner, or DATA_DIR`),
  );
};
