// npm run chaos -- --minutes 10 [--backend redis|postgresql] [--seed 1] [--report FILE]
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const option = (name) => ({ [name]: { type: 'string' } });
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    ...option('backend'),
    ...option('seed'),
    ...option('report'),
  },
});
const env = { ...process.env };
for (const [name, value] of Object.entries(values)) env[`CHAOS_${name.toUpperCase()}`] = value;
const { status } = spawnSync('npx', ['jest', 'test/chaos/storm'], { stdio: 'inherit', env });
process.exit(status ?? 1);
