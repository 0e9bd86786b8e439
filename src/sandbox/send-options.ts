import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Family, families } from './families.ts';
import { spellings } from './history.ts';
import { destinations } from './mutations.ts';
import type { SendOptions } from './sender.ts';
import type { Env } from './urls.ts';
import type { CallbacksOptions } from './variations.ts';

/** The options of sending, as parsed by commander. */
export interface SendFlags
  extends Partial<CallbacksOptions>,
    Pick<SendOptions, 'connections' | 'rate' | 'resendOnFailure' | 'maxAttempts'> {
  readonly sign?: string;
  readonly ledger?: string;
}

export function addSendOptions(command: Command, defaults: Pick<SendFlags, 'count' | 'rate'>): Command {
  return command
    .option('--count <number>', 'number of callbacks; 0: endless', wholeNumber, defaults.count)
    .option(
      '--rate <number>',
      `callbacks per second${defaults.rate ? '' : ' (default: no limit)'}`,
      positiveNumber,
      defaults.rate,
    )
    .option('--connections <number>', 'number of connections', positiveWhole, 10)
    .option(
      '--seed <number>',
      'seed of the history; the same seed and start give the same callbacks',
      wholeNumber,
    )
    .option('--start <time>', 'start of the history, ISO 8601 (default: yesterday 09:00 in India)', moment)
    .addOption(
      new Option('--families <names>', 'comma-separated, or all')
        .argParser(someFamilies)
        .default(families, 'all'),
    )
    .addOption(
      new Option('--spelling <name>', 'as in the contract, as the platform really sends, or mixed')
        .choices(spellings)
        .default('mixed'),
    )
    .addOption(
      new Option('--to <paths>', 'each event to its registered path, or all events to EVENTS_PATH')
        .choices(destinations)
        .default('registered'),
    )
    .option('--duplicates <share>', 'share of duplicates, such as 5%', share, 0)
    .option('--lean <share>', 'share of updates and deletions with nothing but what they change', share, 0)
    .option('--invalid <share>', 'share of invalid callbacks, such as 1%', share, 0)
    .option('--shuffle', 'out of order, within a window of 1000')
    .option('--sign <key>', 'sign with this key (default: the first of SIGNING_KEYS)')
    .option('--resend-on-failure', 'retry after outages, respecting Retry-After')
    .option('--max-attempts <number>', 'with --resend-on-failure: attempts per callback', positiveWhole, 12)
    .option('--ledger <file>', 'write a JSON line per acknowledged delivery');
}

/** The receiver's address on this machine, from HOST and PORT. */
export function receiverAddress(env: Env): string {
  const host = env.HOST || '127.0.0.1';
  // These mean all interfaces; one cannot connect to them.
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${env.PORT || 8080}`;
}

/** Parses an option's value for commander: `read` returns undefined or NaN for an invalid one. */
function option<T>(what: string, read: (text: string) => T | undefined) {
  return (text: string): T => {
    const value = read(text);
    if (value !== undefined && !Number.isNaN(value)) return value;
    throw new InvalidArgumentError(`It must be ${what}.`);
  };
}

export const httpAddress = option('an http(s) address', (text) =>
  URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) ? text : undefined,
);

export const wholeNumber = option('a whole number', (text) =>
  /^\d{1,15}$/.test(text) ? Number(text) : undefined,
);

const positiveWhole = option('more than 0', (text) => wholeNumber(text) || undefined);

const positiveNumber = option('a number above 0', (text) =>
  Number(text) > 0 && Number.isFinite(Number(text)) ? Number(text) : undefined,
);

const someFamilies = option(`all, or any of ${families.join(', ')}`, (text) => {
  const names = text.split(',').map((name) => name.trim());
  if (text === 'all') return families;
  return names.every((name) => families.includes(name as Family)) ? (names as Family[]) : undefined;
});

/** As a number of days; no database of dates goes back for ever. */
export const days = option('a number of days such as 400d, at most 3650d', (text) => {
  const number = Number(/^(\d{1,4})d$/.exec(text)?.[1]);
  return number >= 1 && number <= 3_650 ? number : undefined;
});

export const share = option('a share such as 5%, at most 90%', (text) => {
  const value = text.endsWith('%') ? Number(text.slice(0, -1)) / 100 : Number(text);
  // With 100% of duplicates there would be no originals.
  return text !== '' && value >= 0 && value <= 0.9 ? value : undefined;
});

const moment = option('a time such as 2025-01-06T09:00+05:30', Date.parse);
