import { readConfiguration } from '../../src/diagnostics/configuration.ts';
import { redactor } from '../../src/diagnostics/redact.ts';
import { checkSubscriptions } from '../../src/diagnostics/subscriptions.ts';
import { families } from '../../src/families/index.ts';
import { type Sandbox, sandboxToken, startSandbox } from '../../src/sandbox/server.ts';

let sandbox: Sandbox;
beforeEach(async () => {
  sandbox = await startSandbox();
});
afterEach(() => sandbox.close());

const path = '/an-unguessable-path';

async function findings(more: Record<string, string> = {}) {
  const env = {
    PUBLIC_URL: 'https://receiver.example.org',
    EVENTS_PATH: path,
    SERVICE_BASE_URL: sandbox.url,
    SERVICE_TOKEN: sandboxToken,
    ...more,
  };
  const lines: string[] = [];
  const subject = { env, ...readConfiguration(env), redact: redactor(env) };
  await checkSubscriptions(subject, (status, name, detail) => lines.push(`${status} ${name}: ${detail}`));
  return lines;
}

const subscribe = (body: object) =>
  fetch(`${sandbox.url}/notification/v1/connect/webhook/subscriptions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${sandboxToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

it('names what the platform does not send here, without paths and keys, and says ok where it sends all', async () => {
  expect(await findings()).toEqual([
    expect.stringMatching(
      /^warn subscriptions: No subscription .* none at all. Run npx receiver subscriptions add/,
    ),
  ]);
  const endpoint = `https://receiver.example.org${path}`;
  await subscribe({ endpoint, event_names: families.flatMap(({ events }): readonly string[] => events) });
  const unsigned = await findings();
  expect(unsigned).toEqual([
    expect.stringMatching(/^warn subscriptions: Subscription \S+ has no signing key/),
  ]);
  expect(unsigned.join()).not.toContain(path);
  await subscribe({
    endpoint: `https://old.example.org${path}`,
    event_names: ['receipt.created'],
    signing_key: 'k',
  });
  expect(await findings()).toEqual(unsigned);
});

it('a subscription to every event at one address is ok', async () => {
  const event_names = families.flatMap(({ events }): readonly string[] => events);
  await subscribe({ endpoint: `https://receiver.example.org${path}`, event_names, signing_key: 'a-key' });
  expect(await findings()).toEqual(['ok subscriptions: 1 bring every event here']);
  expect(await findings({ PUBLIC_URL: '' })).toEqual([expect.stringMatching(/^ok .*PUBLIC_URL is not set$/)]);
});

it('asks nothing without the address of the platform, and says what is missing or fails', async () => {
  expect(await findings({ SERVICE_BASE_URL: '' })).toEqual([]);
  expect(await findings({ SERVICE_TOKEN: '' })).toEqual([
    expect.stringMatching(/^warn subscriptions: could not be compared with the platform: set SERVICE_TOKEN/),
  ]);
  const wrong = await findings({ SERVICE_TOKEN: 'a-wrong-token' });
  expect(wrong).toEqual([expect.stringMatching(/^warn subscriptions: could not be compared.*401/)]);
  expect(wrong.join()).not.toContain('a-wrong-token');
  expect(sandbox.requests).toHaveLength(1);
});
