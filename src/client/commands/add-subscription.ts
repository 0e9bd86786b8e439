import { randomBytes } from 'node:crypto';
import { Rejected, Unavailable, UnreadableResponse } from '../errors.ts';
import { eventNames } from '../event-names.ts';
import { MissingSettings } from './settings.ts';
import type { Opened } from './with-client.ts';

interface Flags {
  readonly url: string;
  readonly events: 'all' | readonly string[];
  readonly protocol?: string;
  /** Uses the first of SIGNING_KEYS. */
  readonly existingKey?: true;
}

/** Creates a subscription. A new signing key is printed as a line for `.env`, once the platform has it. */
export async function addSubscription(
  { client, env, print, explain }: Opened,
  { url, events, protocol, existingKey }: Flags,
): Promise<void> {
  const names = events === 'all' ? eventNames : events;
  const undocumented = names.filter((name) => !(eventNames as readonly string[]).includes(name));
  if (undocumented.length > 0) explain(`Not a documented event: ${undocumented.join(', ')}`);

  // Hexadecimal: no character that .env or the list of keys gives a meaning to.
  const key = existingKey ? firstOf(env.SIGNING_KEYS ?? '') : randomBytes(32).toString('hex');
  const subscription = {
    endpoint: url,
    event_names: [...names],
    signing_key: key,
    protocol: protocol ?? new URL(url).protocol.slice(0, -1),
  };
  const { id } = await client.createSubscription(subscription).catch((error) => {
    throw Object.assign(error, { advice: adviceAfter(error, existingKey) });
  });
  explain(`Subscription ${id ?? '(the platform returned no id)'} created: ${names.length} events.`);
  if (existingKey) return;
  print(`SIGNING_KEYS=${key}`);
  explain(
    'This line is printed only once. Put it into .env now and restart every receiver: until then, callbacks with the ' +
      'new key get a 401.\nIf other keys are in use, keep them: SIGNING_KEYS=<new>,<old>',
  );
}

function firstOf(keys: string): string {
  const first = keys
    .split(',')
    .map((key) => key.trim())
    .find(Boolean);
  if (first === undefined) throw new MissingSettings('set SIGNING_KEYS for --existing-key');
  return first;
}

/** Advice after a failed call: the endpoint may have a subscription, and nobody its key. */
function adviceAfter(error: unknown, existingKey = false): string | undefined {
  if (error instanceof Rejected && error.status === 400) {
    return (
      'The documented reason is that the endpoint is registered already. Find its subscription with ' +
      '`receiver subscriptions list`; to replace it, `receiver subscriptions remove <id>`, then add it again.'
    );
  }
  const mayExist = error instanceof Unavailable ? error.mayHaveReached : error instanceof UnreadableResponse;
  if (!mayExist) return undefined;
  return (
    `The subscription may exist all the same${existingKey ? '' : ', with a key that nobody has'}. ` +
    'If `receiver subscriptions list` shows the endpoint, `receiver subscriptions remove <id>`, then add it again.'
  );
}
