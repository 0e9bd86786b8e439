import { parseConfig } from '../config/config.ts';
import { families } from '../families/index.ts';
import { NotSent, openChannels } from '../operations/channels.ts';
import type { AddCommand } from './with-database.ts';

const test = {
  title: 'Webhook receiver alerts: a test',
  text: 'Webhook receiver alerts: a test. Nothing is wrong; this is where messages arrive.',
};

export const addAlertsCommand: AddCommand = (program, env) => {
  program
    .command('alerts')
    .description('the alerts of ALERT_WEBHOOK_URL and ALERT_EMAIL_TO')
    .command('test')
    .description('send a message to each of them; exit code 1 if one fails')
    .action(async () => {
      const channels = openChannels(parseConfig(env, families).alerts);
      if (channels.length === 0) {
        throw new Error('No channel is configured: set ALERT_WEBHOOK_URL, or ALERT_EMAIL_TO and SMTP_URL.');
      }
      for (const { name, send } of channels) {
        const fault = await send(test).catch((error) => {
          if (error instanceof NotSent) return error;
          throw error;
        });
        process.stdout.write(`${name}: ${fault ? `${fault.message}. ${fault.advice}.` : 'sent'}\n`);
        if (fault) process.exitCode = 1;
      }
    });
};
