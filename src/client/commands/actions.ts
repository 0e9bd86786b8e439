import type { RegistrationOptions } from '../call.ts';
import { openPrompt, type Registration, register } from './register.ts';
import { searchTable, subscriptionsJson, subscriptionsTable } from './tables.ts';
import type { Opened } from './with-client.ts';

export { addSubscription } from './add-subscription.ts';
export { withClient } from './with-client.ts';

export async function search(
  { client, print }: Opened,
  q: string,
  { limit, type, json }: { limit: number; type: 'drug' | 'lab'; json?: true },
): Promise<void> {
  const found = await client.searchDrugsAndLabs({ q, limit, s_type: type });
  print(json ? JSON.stringify(found.raw, undefined, 2) : searchTable(found));
}

export async function registerOnTerminal(
  { client, print }: Opened,
  {
    route,
    showTokens = false,
    ...headers
  }: RegistrationOptions & Partial<Pick<Registration, 'route' | 'showTokens'>>,
): Promise<void> {
  const prompt = openPrompt(process.stdin, process.stderr);
  try {
    await register({ client, ask: prompt.ask, tell: print, route, headers, showTokens });
  } finally {
    prompt.close();
  }
}

export async function listSubscriptions({ client, print }: Opened, { json }: { json?: true }): Promise<void> {
  const { data } = await client.listSubscriptions();
  print(json ? subscriptionsJson(data) : subscriptionsTable(data));
}

export async function removeSubscription({ client, print }: Opened, id: string): Promise<void> {
  await client.deleteSubscription({ id });
  print('Subscription removed.');
}
