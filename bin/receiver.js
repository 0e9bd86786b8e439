#!/usr/bin/env node
import { existsSync } from 'node:fs';

// Otherwise SIGUSR1 opens Node's inspector, which runs any code, to every local user.
process.on('SIGUSR1', () => {});

// Process 1 of a container ignores signals without a handler. Until `start` has added its own, exit at once.
// The handler stays: removing the last one would lose a pending signal.
if (process.argv[2] === 'start') {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2']) {
    process.on(signal, () => process.listenerCount(signal) > 1 || process.exit(0));
  }
}

const cli = new URL('../dist/app/cli.js', import.meta.url);
if (existsSync(cli)) {
  await import(cli).catch((error) => {
    // With too few files, Node also says that a module does not exist.
    if (!['EMFILE', 'ENFILE', 'ERR_MODULE_NOT_FOUND'].includes(error.code)) throw error;
    process.stderr.write(
      `receiver: ${error.message}\nThe limit of open files may be too low. Run: ulimit -n 4096 (LimitNOFILE of a unit)\n`,
    );
    process.exit(1);
  });
} else {
  process.stderr.write('receiver: not built (npm ran without scripts?). Run: npm run build\n');
  process.exitCode = 1;
}
