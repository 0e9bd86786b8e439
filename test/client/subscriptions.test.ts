import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import fc from 'fast-check';
import {
  createServiceClient,
  eventNames,
  type ServiceClient,
  type ServiceClientOptions,
} from '../../src/client/index.ts';
import { type Sandbox, sandboxToken, startSandbox } from '../../src/sandbox/server.ts';
import { failureOf } from './calls.ts';

let sandbox: Sandbox;
let client: ServiceClient;
const opened: ServiceClient[] = [];

beforeEach(async () => {
  sandbox = await startSandbox();
  client = clientWith('none');
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.close()));
  await sandbox.close();
});

/** A client whose every call has a fault of the sandbox. */
function clientWith(fault: string, options: Partial<ServiceClientOptions> = {}): ServiceClient {
  const baseUrl = `${sandbox.url}/fault-${fault}`;
  const made = createServiceClient({ baseUrl, token: sandboxToken, retry: { firstPauseMs: 10 }, ...options });
  opened.push(made);
  return made;
}

let canned: { status: number; body: string };
const server = createServer((_, response) => void response.writeHead(canned.status).end(canned.body));
beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'));
afterAll(() => server.close());

/** A client of a service that responds with this body to everything. */
function respondingWith(status: number, body: string): ServiceClient {
  canned = { status, body };
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return clientWith('none', { baseUrl, retry: { maxAttempts: 1 } });
}

const path = '/notification/v1/connect/webhook/subscriptions';
const endpoint = 'https://receiver.example/events';
const signing_key = 'a-key-of-ours';
const request = {
  endpoint,
  event_names: ['receipt.created', 'mcert.created'],
  signing_key,
  protocol: 'https',
};
const callsOf = (caller: ServiceClient) => ({
  listSubscriptions: () => caller.listSubscriptions(),
  createSubscription: () => caller.createSubscription(request),
  deleteSubscription: () => caller.deleteSubscription({ id: 'some-id' }),
});
const names = ['listSubscriptions', 'createSubscription', 'deleteSubscription'] as const;
const sent = () => sandbox.requests.length;

it('creates, lists and deletes a subscription', async () => {
  const { id } = await client.createSubscription(request);
  expect(sandbox.requests.at(-1)).toMatchObject({
    method: 'POST',
    path: expect.stringContaining(path),
    body: request,
    headers: { authorization: `Bearer ${sandboxToken}`, 'content-type': 'application/json' },
  });
  const { data } = await client.listSubscriptions();
  expect(data).toEqual([
    {
      id,
      ...request,
      client_id: 'sandbox-client',
      created_at: expect.any(String),
      updated_at: expect.any(String),
      created_by: 'sandbox-client',
      updated_by: 'sandbox-client',
    },
  ]);
  expect(await client.deleteSubscription({ id: id! })).toBeUndefined();
  expect((await client.listSubscriptions()).data).toEqual([]);
});

it('sends only what is given', async () => {
  await client.createSubscription({ endpoint });
  expect(sandbox.requests.at(-1)?.body).toEqual({ endpoint });
});

it('names each documented event once', () => {
  expect(new Set(eventNames).size).toBe(eventNames.length);
});

it('sends any id in one segment of the path', async () => {
  const id = fc.string({ minLength: 1, unit: 'grapheme' }).filter((text) => !/^\.{1,2}$/.test(text));
  const odd = ['a/b', '../x', '?x=1', '#', '%2f', 'a b', '…', '{id}', '.', '..', '...'];
  const given = fc.oneof(fc.constantFrom(...odd), id).filter((text) => !['.', '..'].includes(text));
  await fc.assert(
    fc.asyncProperty(given, async (text) => {
      expect(await failureOf(client.deleteSubscription({ id: text }))).toMatchObject({ status: 404 });
      const last = sandbox.requests.at(-1)!;
      const [, segment] = last.path.split(`${path}/`);
      expect([last.method, last.query]).toEqual(['DELETE', {}]);
      expect(segment).not.toContain('/');
      expect(decodeURIComponent(segment!)).toBe(text);
    }),
  );
});

it.each(['', '.', '..', '\ud800', 7 as never, undefined as never])(
  'sends nothing for the id %p: it is no segment of a path',
  async (id) => {
    expect(await failureOf(client.deleteSubscription({ id }))).toMatchObject({ name: 'RefusedInput' });
    expect(sent()).toBe(0);
  },
);

it.each([
  {},
  { endpoint: '' },
  { endpoint, event_names: [] },
  { endpoint, signing_key: '' },
  { endpoint, key: 'k' },
])('sends nothing for the subscription %j', async (input) => {
  expect(await failureOf(client.createSubscription(input as never))).toMatchObject({ name: 'RefusedInput' });
  expect(sent()).toBe(0);
});

it('a second subscription of an endpoint is rejected', async () => {
  await client.createSubscription(request);
  expect(await failureOf(client.createSubscription(request))).toMatchObject({
    name: 'Rejected',
    operation: 'createSubscription',
    status: 400,
    body: '{"error":{"code":"INVALID_REQUEST","message":"the endpoint is registered already"}}',
  });
});

describe.each(names)('%s', (name) => {
  it.each([
    ['400', 'Rejected'],
    ['401', 'Unauthorized'],
    ['404', 'Rejected'],
    ['500', 'Unavailable'],
    ['redirect', 'UnreadableResponse'],
  ])('fails after %s with the typed error %s', async (fault, type) => {
    const error = await failureOf(callsOf(clientWith(fault))[name]());
    expect(error).toMatchObject({ name: type, operation: name });
  });

  it.each(['500', '503', '429', 'reset', 'hang'])(
    'is retried after %s only if it is repeatable',
    async (fault) => {
      const caller = clientWith(fault, {
        timeoutMs: 300,
        totalTimeoutMs: 5_000,
        retry: { firstPauseMs: 10, maxAttempts: 2 },
      });
      await failureOf(callsOf(caller)[name]());
      expect(sent()).toBe(name === 'createSubscription' ? 1 : 2);
    },
  );
});

it.each(['garbage', 'html', 'array'])('cannot read %s as a list', async (fault) => {
  expect(await failureOf(clientWith(fault).listSubscriptions())).toMatchObject({
    name: 'UnreadableResponse',
  });
});

it.each(['garbage', 'html', 'array', 'huge'])(
  'takes a deletion as done whatever its body: %s',
  async (fault) => {
    expect(await clientWith(fault).deleteSubscription({ id: 'some-id' })).toBeUndefined();
  },
);

describe('a deletion', () => {
  it('succeeds if the retry finds that a former attempt has deleted it', async () => {
    const { id } = await client.createSubscription(request);
    await clientWith('once-lost').deleteSubscription({ id: id! });
    expect(sandbox.requests.map((r) => r.method)).toEqual(['POST', 'DELETE', 'DELETE']);
    expect((await client.listSubscriptions()).data).toEqual([]);
  });

  it.each(['none', 'once-429'])(
    'of an unknown subscription is rejected if no attempt can have deleted it: a 401, then %s',
    async (fault) => {
      let count = 0;
      const caller = clientWith(fault, { token: () => (count++ ? sandboxToken : 'stale') });
      expect(await failureOf(caller.deleteSubscription({ id: 'unknown' }))).toMatchObject({
        name: 'Rejected',
        status: 404,
      });
    },
  );
});

describe('a signing key', () => {
  const printed = (error: unknown) =>
    [inspect(error, { depth: null, showHidden: true }), JSON.stringify(error)].join();

  it.each(['echo', '400', '500'])('is in no error of its creation: %s', async (fault) => {
    const error = await failureOf(clientWith(fault).createSubscription(request));
    expect(printed(error)).not.toContain(signing_key);
  });

  it('is in no error about invalid input', async () => {
    const error = await failureOf(client.createSubscription({ ...request, other: signing_key } as never));
    expect(printed(error)).not.toContain(signing_key);
  });

  it('of others is in no error of a list', async () => {
    await client.createSubscription(request);
    const keys = `{"data":[{"id":null,"signing_key":"${signing_key}"}],"x":"\\u0061-key-of-ours"}`;
    for (const [status, body] of [
      [200, keys],
      [200, keys.slice(0, 40)],
      [400, keys.slice(0, 44)],
      [500, keys.replaceAll('"', '\\"').slice(0, 60)],
    ] as const) {
      const error = await failureOf(respondingWith(status, body).listSubscriptions());
      expect(error).toMatchObject({ operation: 'listSubscriptions' });
      expect(printed(error)).not.toMatch(/a-key|key-of|of-ours/);
    }
  });
});

it.each([
  ['ids that are numbers', { data: [{ id: 7 }] }, [{ id: '7' }]],
  ['null instead of an empty list', { data: null }, []],
  [
    'times of any type, and unknown fields as raw',
    { data: [{ id: 'a', created_at: 5, new: {} }] },
    [{ id: 'a', created_at: 5 }],
  ],
  [
    'null in any field but the id',
    { data: [{ id: 'a', event_names: null, endpoint: null, signing_key: null }], msg: {} },
    [{ id: 'a', event_names: null, endpoint: null, signing_key: null }],
  ],
])('reads %s', async (_, body, data) => {
  const response = await respondingWith(200, JSON.stringify(body)).listSubscriptions();
  expect(response.data).toEqual(data);
  expect(response.raw).toEqual(body);
});

it.each(['{}', '{"id":7,"status":1}', '{"id":null}'])(
  'takes a subscription as created whatever the response has: %s',
  async (body) => {
    await expect(respondingWith(201, body).createSubscription(request)).resolves.toBeDefined();
  },
);
