// npm run fuzz -- --cases 100000 [--seed 1]: the fuzz test with more cases than `npm test` runs.
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { cases: { type: 'string', default: '20000' }, seed: { type: 'string' } },
});
const env = { ...process.env, FUZZ_CASES: values.cases, ...(values.seed ? { FUZZ_SEED: values.seed } : {}) };
const { status } = spawnSync('npx', ['jest', 'test/fuzz'], { stdio: 'inherit', env });
process.exit(status ?? 1);
