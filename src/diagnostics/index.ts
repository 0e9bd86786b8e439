import type { Command } from 'commander';
import { printable } from '../common/printable.ts';
import type { Environment } from '../config/config.ts';
import type { Finding } from './finding.ts';

/** `receiver doctor`: checks what the receiver needs, and says what to do. Changes nothing. */
export function addDoctorCommand(program: Command, env: Environment): void {
  program
    .command('doctor')
    .description('check configuration, database, Redis, ports and more; exit code 1 if something is wrong')
    .option('--strict', 'exit code 1 after warnings, too')
    .option('--json', 'print one JSON object per line')
    .action(async ({ strict, json }: { strict?: true; json?: true }) => {
      const { diagnose } = await import('./diagnose.ts');
      const findings = await diagnose(env);
      const text = findings
        .map((finding) => (json ? JSON.stringify(finding) : lineOf(finding)))
        .map((line) => `${printable(line)}\n`)
        .join('');
      const failing = strict ? ['warn', 'fail'] : ['fail'];
      const code = findings.some(({ status }) => failing.includes(status)) ? 1 : 0;
      // A server that hangs may keep its connection open.
      process.stdout.write(text, () => process.exit(code));
    });
}

const lineOf = ({ status, name, detail }: Finding) =>
  `${status.padEnd(5)} ${name.padEnd(20)} ${detail.replaceAll('\n', ' ')}`;
