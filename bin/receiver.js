#!/usr/bin/env node
import { existsSync } from 'node:fs';

const cli = new URL('../dist/cli.js', import.meta.url);
if (existsSync(cli)) {
  await import(cli);
} else {
  process.stderr.write('receiver: not built yet (npm was told not to run scripts?). Type: npm run build\n');
  process.exitCode = 1;
}
