import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { totalmem } from 'node:os';
import type { Check, ReportFinding } from './finding.ts';

const { engines } = createRequire(import.meta.url)('../../package.json') as { engines: { node: string } };

// 2,000 connections, those to the stores, and files.
const enoughFiles = 4_096;
const enoughMiB = 512;

export interface ProcessFacts {
  /** The version of Node. */
  version: string;
  /** How many files, connections included, may be open at once. */
  files: number;
  memoryMiB: number;
}

/** Node and the limits of this process, which are the receiver's if it is started in the same way. */
export const checkProcess: Check = (_, report) => judgeProcess(readFacts(), report);

export function judgeProcess({ version, files, memoryMiB }: ProcessFacts, report: ReportFinding): void {
  const oldest = engines.node.replace('>=', '');
  if (version.localeCompare(oldest, 'en', { numeric: true }) >= 0) report('ok', 'node', version);
  else report('fail', 'node', `${version} is too old. Install ${oldest} or newer`);

  if (files >= enoughFiles) report('ok', 'open files', `up to ${files}`);
  else {
    const fix = `ulimit -n ${enoughFiles}, or LimitNOFILE=${enoughFiles} in a unit of systemd`;
    report('warn', 'open files', `only ${files}, connections included. For 2,000 connections: ${fix}`);
  }

  if (memoryMiB >= enoughMiB) report('ok', 'memory', `up to ${Math.floor(memoryMiB)} MiB`);
  else report('warn', 'memory', `limited to ${Math.floor(memoryMiB)} MiB. Allow at least ${enoughMiB} MiB`);
}

function readFacts(): ProcessFacts {
  const limits = '/proc/self/limits';
  const limit = existsSync(limits) && /^Max open files +(\d+)/m.exec(readFileSync(limits, 'utf8'))?.[1];
  return {
    version: process.versions.node,
    files: limit ? Number(limit) : Number.POSITIVE_INFINITY,
    memoryMiB: Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem()) / 2 ** 20,
  };
}
