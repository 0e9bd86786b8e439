import { randomBytes } from 'node:crypto';
import { Rejected, Unavailable, UnreadableResponse } from '../errors.ts';
import { eventNames } from '../event-names.ts';
import type { ServiceClient } from '../service-client.ts';
import { MissingSettings } from './settings.ts';

/** The options of `receiver subscriptions add`. */
export interface AddFlags {
  readonly url: string;
  readonly events: 'all' | readonly string[];
  readonly protocol?: string;
  readonly existingKey?: true;
}

interface NewSubscription extends Omit<AddFlags, 'existingKey'> {
  readonly client: ServiceClient;
  /** SIGNING_KEYS, to use the first of them; undefined: a new key. */
  readonly keys: string | undefined;
  readonly print: (text: string) => void;
  readonly explain: (text: string) => void;
}

/** Creates a subscription. A new signing key is printed as a line for `.env`, once the platform has it. */
export async function addSubscription(options: NewSubscription): Promise<void> {
  const { client, url, events, protocol, keys, print, explain } = options;
  const names = events === 'all' ? eventNames : events;
  const undocumented = names.filter((name) => !(eventNames as readonly string[]).includes(name));
  if (undocumented.length > 0) explain(`Not a documented event: ${undocumented.join(', ')}`);

  const key = keys === undefined ? newKey() : firstOf(keys);
  const { id } = await client.createSubscription({
    endpoint: url,
    event_names: [...names],
    signing_key: key,
    protocol: protocol ?? new URL(url).protocol.slice(0, -1),
  });
  explain(`Subscription ${id ?? '(the platform returned no id)'} created: ${names.length} events.`);
  if (keys !== undefined) return;
  print(`SIGNING_KEYS=${key}`);
  explain(
    'This line is printed only once. Put it into .env now and restart every receiver: until then, callbacks with the ' +
      'new key get a 401.\nIf other keys are in use, keep them: SIGNING_KEYS=<new>,<old>',
  );
}

// Hexadecimal: no character that .env or the list of keys gives a meaning to.
const newKey = () => randomBytes(32).toString('hex');

function firstOf(keys: string): string {
  const first = keys
    .split(',')
    .map((key) => key.trim())
    .find(Boolean);
  if (first === undefined) throw new MissingSettings('set SIGNING_KEYS for --existing-key');
  return first;
}

/** Advice after a failed call: the endpoint may have a subscription, and nobody its key. */
export function hintAfterError(error: unknown, existingKey = false): string {
  if (error instanceof Rejected && error.status === 400) {
    return (
      'The documented reason is that the endpoint is registered already. Find its subscription with ' +
      '`receiver subscriptions list`; to replace it, `receiver subscriptions remove <id>`, then add it again.'
    );
  }
  const mayExist = error instanceof Unavailable ? error.mayHaveReached : error instanceof UnreadableResponse;
  if (!mayExist) return '';
  return (
    `The subscription may exist all the same${existingKey ? '' : ', with a key that nobody has'}. ` +
    'If `receiver subscriptions list` shows the endpoint, `receiver subscriptions remove <id>`, then add it again.'
  );
}
