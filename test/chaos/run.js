// npm run chaos -- --minutes 10 [--backend redis|postgresql] [--seed 1] [--fault TEXT] [--report FILE]
// npm run chaos:backlog -- --count 1000000
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const option = (name) => ({ [name]: { type: 'string' } });
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: Object.assign({}, ...['minutes', 'backend', 'seed', 'fault', 'report', 'count'].map(option)),
});
const suite = positionals[0] ?? 'faults';
const given = suite === 'faults' ? { minutes: '10', ...values } : { count: '1000000', ...values };
const env = { ...process.env };
for (const [name, value] of Object.entries(given)) env[`CHAOS_${name.toUpperCase()}`] = value;
const { status } = spawnSync('npx', ['jest', `test/chaos/${suite}`], { stdio: 'inherit', env });
process.exit(status ?? 1);
