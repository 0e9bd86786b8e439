import { constants, existsSync, readFileSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { totalmem } from 'node:os';
import { effectOfWrongClock, maxDifferenceS } from '../health/clock.ts';
import { freeDisk } from '../store/embedded/place.ts';
import type { Check, ReportFinding } from './finding.ts';

const { engines } = createRequire(import.meta.url)('../../package.json') as { engines: { node: string } };

// 2,000 connections, those to the stores, and files.
const enoughFiles = 4_096;
const enoughMiB = 512;
const gibibyte = 2 ** 30;
const clockToleranceS = 2;

/** Node and the limits of this process, which are the receiver's if it is started in the same way. */
export const checkProcess: Check = (_, report) => judgeProcess(readFacts(), report);

/**
 * @param version of Node
 * @param files how many, connections included, may be open at once
 */
export function judgeProcess(
  { version, files, memoryMiB }: ReturnType<typeof readFacts>,
  report: ReportFinding,
): void {
  const oldest = engines.node.replace('>=', '');
  if (version.localeCompare(oldest, 'en', { numeric: true }) >= 0) report('ok', 'node', version);
  else report('fail', 'node', `${version} is too old. Install ${oldest} or newer`);

  const fix = `ulimit -n ${enoughFiles}, or LimitNOFILE=${enoughFiles} in a unit of systemd`;
  if (files >= enoughFiles) report('ok', 'open files', `up to ${files}`);
  else report('warn', 'open files', `only ${files}, connections included. For 2,000 connections: ${fix}`);

  if (memoryMiB >= enoughMiB) report('ok', 'memory', `up to ${Math.floor(memoryMiB)} MiB`);
  else report('warn', 'memory', `limited to ${Math.floor(memoryMiB)} MiB. Allow at least ${enoughMiB} MiB`);
}

function readFacts() {
  const limits = '/proc/self/limits';
  const limit = existsSync(limits) && /^Max open files +(\d+)/m.exec(readFileSync(limits, 'utf8'))?.[1];
  return {
    version: process.versions.node,
    files: limit ? Number(limit) : Number.POSITIVE_INFINITY,
    memoryMiB: Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem()) / 2 ** 20,
  };
}

/** The disk of the embedded database; that of a server cannot be seen from here. */
export const checkDisk: Check = async ({ config, invalid }, report) => {
  if (config.databaseUrl || invalid.has('DATABASE_URL')) return;
  const { folder, bytes } = await freeDisk(config.dataDir);
  const free = bytes / gibibyte;
  const text = `${free.toFixed(1)} GiB free at DATA_DIR`;
  // PostgreSQL stops where it cannot write its log.
  if (free < 0.25)
    report('fail', 'disk', `${text}. Free some, or move DATA_DIR: a full disk stops the database`);
  else if (free < 1) report('warn', 'disk', `${text}. Free some: a full disk stops the database`);
  else report('ok', 'disk', text);
  await access(folder, constants.W_OK).catch(() =>
    report('fail', 'disk', `${folder} cannot be written by this user. Change its owner, or DATA_DIR`),
  );
};

/**
 * Compares the clock of this machine with another.
 *
 * @param read the other's time, in milliseconds
 * @param wrong from how many seconds on it fails, and why. Default: as Health says it of PostgreSQL's clock
 */
export async function checkClock(
  store: string,
  read: () => Promise<number>,
  report: ReportFinding,
  wrong = { seconds: maxDifferenceS, effect: effectOfWrongClock },
): Promise<void> {
  const began = Date.now();
  const theirs = await read();
  // The other looked at its clock at some time during the question, which is therefore no difference.
  const seconds = Math.max(began - theirs, theirs - Date.now(), 0) / 1000;
  if (seconds <= clockToleranceS) return report('ok', 'clock', `as that of ${store}`);
  const isWrong = seconds > wrong.seconds;
  const effect = isWrong ? `: ${wrong.effect}` : '';
  const text = `${Math.round(seconds)} s apart from that of ${store}${effect}. Synchronize both, as with chrony`;
  report(isWrong ? 'fail' : 'warn', 'clock', text);
}
