import { randomBytes } from 'node:crypto';
import { Rejected, Unavailable, UnreadableResponse } from '../errors.ts';
import type { ServiceClient } from '../service-client.ts';
import { eventNames } from '../subscription-schemas.ts';

interface NewSubscription {
  readonly client: ServiceClient;
  readonly url: string;
  readonly events: 'all' | readonly string[];
  readonly protocol: string | undefined;
  readonly print: (text: string) => void;
  readonly explain: (text: string) => void;
}

/** Creates a subscription with a new signing key, and prints the key as a line for `.env` once the service has it. */
export async function addSubscription(options: NewSubscription): Promise<void> {
  const { client, url, events, protocol, print, explain } = options;
  const names = events === 'all' ? eventNames : events;
  const undocumented = names.filter((name) => !(eventNames as readonly string[]).includes(name));
  if (undocumented.length > 0) explain(`Not a documented event: ${undocumented.join(', ')}`);

  // Hexadecimal: no character that .env or the list of keys gives a meaning to.
  const key = randomBytes(32).toString('hex');
  const { id } = await client.createSubscription({
    endpoint: url,
    event_names: [...names],
    signing_key: key,
    protocol: protocol ?? new URL(url).protocol.slice(0, -1),
  });
  print(`SIGNING_KEYS=${key}`);
  explain(
    `Subscription ${id ?? '(the service returned no id)'} created: ${names.length} events.\n` +
      'The key above is printed only this once. Put the line into .env and restart every receiver.\n' +
      'If other keys are in use, keep them: SIGNING_KEYS=<new>,<old>',
  );
}

/** What to do after a failed call: the endpoint may have a subscription whose key nobody has. */
export function hintAfterError(error: unknown): string {
  if (error instanceof Rejected && error.status === 400) {
    return (
      'The documented reason is that the endpoint is registered already. Find its subscription with ' +
      '`receiver subscriptions list`; to replace it, `receiver subscriptions remove <id>`, then add it again.'
    );
  }
  const mayExist = error instanceof Unavailable ? error.mayHaveReached : error instanceof UnreadableResponse;
  if (!mayExist) return '';
  return (
    'The subscription may exist all the same, with a key that nobody has: its callbacks would fail the signature check. ' +
    'If `receiver subscriptions list` shows the endpoint, `receiver subscriptions remove <id>`, then add it again.'
  );
}
