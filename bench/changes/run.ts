import { rmSync } from 'node:fs';
import { benchCommand } from '../options.ts';
import { prepare } from '../session.ts';
import { startPostgres } from '../stores/postgres.ts';
import { measureCost } from './cost.ts';
import { measureDelivery } from './delivery.ts';
import { measureReading } from './reading.ts';

// The feed of changes and webhooks: what they cost the path of callbacks, how fast they are read, and how late they are.

const parts = { cost: measureCost, reading: measureReading, delivery: measureDelivery };
const options = benchCommand('bench:changes', 'What the feed of changes costs, and how fast it is', {
  rounds: 12,
  callbacks: 2_000,
  seconds: 15,
  rate: 500,
})
  .option(
    '--only <parts>',
    `comma-separated, of ${Object.keys(parts).join(', ')}`,
    Object.keys(parts).join(','),
  )
  .parse()
  .opts<{ rounds: number; callbacks: number; seconds: number; rate: number; only: string }>();

const folder = '.data/bench-changes';
await prepare();
// Pages that are written for the first time after a checkpoint are in the log completely.
const postgres = await startPostgres(folder, ['checkpoint_timeout=1h', 'max_wal_size=8GB']);
try {
  for (const [name, measure] of Object.entries(parts)) {
    if (options.only.split(',').includes(name)) await measure(postgres, options);
  }
} finally {
  await postgres.stop();
  rmSync(folder, { recursive: true });
}
