// npm test -- [options of jest] [--changed]: the tests that guide.
// npm run test:proofs -- [--minutes 30] [--seed 1] [options of jest]: the tests that prove, *.proof.test.ts.
import { spawnSync } from 'node:child_process';
import { whatIsMissing } from './support/missing.ts';

const [suite, ...given] = process.argv.slice(2);
const proves = suite === 'proofs';
const minutes = Number(takeOption('--minutes') ?? 0);
const seed = takeOption('--seed') ?? String(Date.now() % 100_000);

// Jest's own ignored paths, which an option replaces.
const guides = ['/node_modules/', 'test/providers/', '\\.proof\\.test\\.ts$'];
const selection = proves
  ? ['--testMatch=**/*.proof.test.ts']
  : guides.map((path) => `--testPathIgnorePatterns=${path}`);
const options = given.map((option) => (option === '--changed' ? '--onlyChanged' : option));
const long = {
  CHAOS_MINUTES: String(minutes),
  CHAOS_COUNT: String(minutes * 30_000),
  FUZZ_CASES: String(minutes * 10_000),
};
const drills = { CHAOS_SEED: seed, FUZZ_SEED: seed, ...(minutes > 0 && long) };

const env = { ...process.env, ...(proves && drills) };
// Jest would take paths after its list of patterns for more of them.
const { status } = spawnSync('npx', ['jest', ...options, ...selection], { stdio: 'inherit', env });
if (proves) {
  const missing = whatIsMissing().map((what) => `Not run on this machine: ${what}.`);
  process.stderr.write([`Drawn from --seed ${seed}.`, ...missing, ''].join('\n'));
}
process.exitCode = status ?? 1;

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
