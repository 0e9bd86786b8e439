// npm test [-- <options of jest>] [--changed]: the tests, from one seed, with a second chance for what was only slow.
// npm run drills [-- --minutes 30] [--seed 1] [<options of jest>]: *.drill.ts, from a random seed.
// npm run drills -- --postgres 14: the tests of the database, on another version of PostgreSQL.
import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { testOnPostgres } from './support/test-on-postgres.ts';

/** What `jest --json` writes. */
interface Report {
  testResults: {
    name: string;
    status: string;
    message: string;
    assertionResults: { status: string; fullName: string; failureMessages: string[] }[];
  }[];
}

const maxSlowFiles = 3;
const maxMinutes = 45;
const [suite, ...given] = process.argv.slice(2);
const minutes = Number(takeOption('--minutes') ?? 0);
const postgres = takeOption('--postgres');
const seed = takeOption('--seed') ?? (suite === 'drills' ? String(Date.now() % 100_000) : '1');
const options = given.map((option) => (option === '--changed' ? '--onlyChanged' : option));

process.exitCode = postgres ? await testOnPostgres(postgres) : suite === 'drills' ? runDrills() : runTests();

function runDrills(): number {
  // After the options: Jest would take paths after its list of patterns for more of them.
  const { status } = runJest([...options, '--testMatch=**/*.drill.ts']);
  process.stderr.write(`Drawn from --seed ${seed}.\n`);
  return status;
}

/** A file all of whose failures are time-outs of `until` runs once more, alone; any other failure is final. */
function runTests(): number {
  const first = runJest(options);
  const slow = first.report?.testResults?.filter(isSlow) ?? [];
  const failed = first.report?.testResults?.filter(({ status }) => status === 'failed') ?? [];
  if (first.status === 0 || slow.length !== failed.length || slow.length > maxSlowFiles || slow.length === 0)
    return first.status;
  process.stderr.write('\nNot in time. Once more, alone:\n');
  const names = slow.map(({ name }) => name);
  const second = runJest(['--runInBand', '--runTestsByPath', ...names]);
  if (second.status !== 0) return second.status;
  process.stderr.write('\n');
  for (const { name, assertionResults } of slow)
    for (const { fullName, failureMessages } of assertionResults.filter(
      ({ status }) => status === 'failed',
    )) {
      const flaky = { file: relative(process.cwd(), name), test: fullName };
      process.stderr.write(`FLAKY ${flaky.file}: ${flaky.test}\n`);
      const [message] = failureMessages[0]!.split('\n');
      const line = { at: new Date().toISOString(), ...flaky, message, seed, load: loadavg()[0] };
      appendFileSync('flaky.jsonl', `${JSON.stringify(line)}\n`);
    }
  return 0;
}

function isSlow({ status, message, assertionResults }: Report['testResults'][number]): boolean {
  const messages = assertionResults.flatMap(({ failureMessages }) => failureMessages);
  // A failure outside of a test stands in the message alone.
  const failures = message.match(/^ {2}● /gm)?.length ?? 0;
  return (
    status === 'failed' &&
    messages.length > 0 &&
    messages.length === failures &&
    messages.every((text) => /^(Error: )?NotInTime: /.test(text))
  );
}

function runJest(args: string[]): { status: number; report: Report | undefined } {
  const folder = mkdtempSync(join(tmpdir(), 'receiver-report-'));
  const file = join(folder, 'report.json');
  const drills = suite === 'drills' ? { DRILL_MINUTES: String(minutes) } : {};
  const env = { ...process.env, TEST_SEED: seed, ...drills };
  try {
    const jest = ['node_modules/jest/bin/jest.js', '--json', `--outputFile=${file}`, ...args];
    // A run that does not end has failed.
    const timeout = maxMinutes * 60_000 + 2 * minutes * 60_000;
    const options = { env, timeout, killSignal: 'SIGKILL' } as const;
    const { status } = spawnSync(process.execPath, jest, {
      stdio: ['ignore', 'ignore', 'inherit'],
      ...options,
    });
    const report = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Report) : undefined;
    return { status: status ?? 1, report };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Removes an option of this script and returns its value. */
function takeOption(name: string): string | undefined {
  const at = given.findIndex((option) => option === name || option.startsWith(`${name}=`));
  if (at < 0) return undefined;
  const [option, next] = given.slice(at, at + 2);
  const value = option!.includes('=') ? option!.slice(name.length + 1) : next;
  if (!Number.isFinite(Number(value ?? Number.NaN))) throw new Error(`${name} takes a number.`);
  given.splice(at, option!.includes('=') ? 1 : 2);
  return value;
}
