#!/usr/bin/env node
import { existsSync } from 'node:fs';

// Process 1 of a container ignores a signal that it has no handler for. Until `start` has its own, nothing runs yet.
// This one stays: with the last handler of a signal goes what has come and was not seen.
if (process.argv[2] === 'start') {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
    process.on(signal, () => process.listenerCount(signal) > 1 || process.exit(0));
  }
}

const cli = new URL('../dist/cli.js', import.meta.url);
if (existsSync(cli)) {
  await import(cli);
} else {
  process.stderr.write('receiver: not built yet (npm was told not to run scripts?). Type: npm run build\n');
  process.exitCode = 1;
}
