import type { Command } from 'commander';
import { print, printable } from '../common/terminal.ts';
import type { Check, OnCore } from '../receiver/feature.ts';
import { NotSent, openChannels } from './channels.ts';
import { checksOfError, diagnose } from './doctor.ts';
import { titleOf } from './read-checks.ts';

type Options = { strict?: true; json?: true };

export function addOperationsCommands(program: Command, onCore: OnCore): void {
  program
    .command('doctor')
    .description('check the configuration, the stores and what they hold; exit code 1 if something is wrong')
    .option('--strict', 'exit code 1 after warnings, too')
    .option('--json', 'print one JSON object per line')
    .action(async ({ strict, json }: Options) => {
      const checks: Check[] = [];
      await onCore(async (core) => {
        checks.push(...(await diagnose(core)));
      })().catch((error) => checks.push(...checksOfError(error)));
      for (const check of checks) print(json ? printable(JSON.stringify(check)) : textOf(check));
      const failing = strict ? ['warn', 'fail'] : ['fail'];
      if (checks.some(({ status }) => failing.includes(status))) process.exitCode = 1;
    });

  program
    .command('alerts')
    .description('the alerts of ALERT_WEBHOOK_URL and ALERT_EMAIL_TO')
    .command('test')
    .description('send a message to each of them; exit code 1 if one fails')
    .action(
      onCore(async ({ config }) => {
        const channels = openChannels(config.alerts);
        if (channels.length === 0)
          throw new Error('No channel is configured: set ALERT_WEBHOOK_URL, or ALERT_EMAIL_TO and SMTP_URL.');
        for (const { name, send, advice } of channels)
          try {
            await send(test);
            print(`${name}: sent`);
          } catch (error) {
            if (!(error instanceof NotSent)) throw error;
            print(`${name}: ${error.message}. ${advice}.`);
            process.exitCode = 1;
          }
      }),
    );
}

const test = {
  title: 'Webhook receiver: a test',
  text: 'Webhook receiver: a test. Nothing is wrong; this is where messages arrive.',
};

function textOf(check: Check): string {
  const { status, name, detail, todo } = check;
  const line = `${status.padEnd(5)} ${name.padEnd(14)} ${titleOf(check)}${detail && `. ${detail}`}`;
  const advice = status !== 'ok' && todo ? `\n${' '.repeat(21)}→ ${todo}` : '';
  return `${printable(line).replaceAll('\n', ' ')}${advice}`;
}
