import { type Command, InvalidArgumentError } from 'commander';
import type { Family } from './history.ts';

type Env = Record<string, string | undefined>;

/** The options of sending, as parsed by commander. */
export interface SendFlags {
  readonly url: string;
  readonly count?: number;
  readonly rate?: number;
  readonly connections: number;
  readonly seed?: number;
  readonly start?: number;
  readonly duplicates: number;
  readonly invalid: number;
  readonly shuffle?: true;
  readonly sign?: string;
  readonly resendOnFailure?: true;
  readonly maxAttempts: number;
  readonly ledger?: string;
}

/** Adds the options of sending. */
export function addSendOptions(command: Command, defaults: Pick<SendFlags, 'count' | 'rate'>): Command {
  return command
    .option('--count <number>', 'number of callbacks; 0: endless', wholeNumber, defaults.count)
    .option('--rate <number>', 'callbacks per second (default: no limit)', positiveNumber, defaults.rate)
    .option('--connections <number>', 'number of connections', positiveWhole, 10)
    .option(
      '--seed <number>',
      'seed of the history; the same seed and start give the same callbacks',
      wholeNumber,
    )
    .option('--start <time>', 'start of the history, ISO 8601 (default: yesterday 09:00 in India)', moment)
    .option('--duplicates <share>', 'share of duplicates, such as 5%', share, 0)
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

/** The registered URLs: the paths of section 4.5 unless the environment has others. */
export function registeredUrls(base: string, env: Env): Record<Family, string> {
  const below = (path: string) => base.replace(/\/+$/, '') + path;
  return {
    receipt: below(env.RECEIPTS_PATH || '/registered_url_for_receipt_events'),
    consent_form: below(env.CONSENT_FORMS_PATH || '/registered_url_for_consent_form'),
    review_request: below(env.REVIEW_REQUESTS_PATH || '/registered_url_for_google_review_events'),
  };
}

/** Parses an http(s) address for commander. */
export function httpAddress(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new InvalidArgumentError('It must be an http(s) address.');
}

/** Parses a whole number from 0 for commander. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

function positiveWhole(text: string): number {
  const value = wholeNumber(text);
  if (value === 0) throw new InvalidArgumentError('It must be more than 0.');
  return value;
}

function positiveNumber(text: string): number {
  const value = Number(text);
  if (value > 0 && Number.isFinite(value)) return value;
  throw new InvalidArgumentError('It must be a number above 0.');
}

function share(text: string): number {
  const value = text.endsWith('%') ? Number(text.slice(0, -1)) / 100 : Number(text);
  // With 100% of duplicates there would be no originals.
  if (text !== '' && value >= 0 && value <= 0.9) return value;
  throw new InvalidArgumentError('It must be a share such as 5%, at most 90%.');
}

function moment(text: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new InvalidArgumentError('It must be a time such as 2025-01-06T09:00+05:30.');
  return time;
}
