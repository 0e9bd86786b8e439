import { createServer, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type ChangesClient,
  type ChangesClientOptions,
  createChangesClient,
  ReadFromBeginning,
  Rejected,
  Unauthorized,
} from '../../src/client/index.ts';
import { receiptCallback } from '../support/callbacks.ts';
import { apply } from '../support/deliveries.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';

const token = 'k3v9x7q2m5n8b1c4';
const { database, start } = useService({ per: 'test' });
const changes = {
  tokens: [{ token, isPublic: false }],
  allowedIps: [],
  streams: 2,
  heartbeatMs: 100,
  stalledMs: 1_000,
};
const receipt = (receipt_id: number, event_time = 1_700_000_000) =>
  receiptCallback({ event_time, data: { receipt_id } });

type Fault = (res: ServerResponse, isStream: boolean) => boolean;

let proxy: Server;
let client: ChangesClient;
/** Answers a request in place of the receiver, unless it returns false. */
let fault: Fault;
/** What was asked for: pages and streams. */
let asked: string[];
afterEach(async () => {
  await client.close();
  proxy.closeAllConnections();
  proxy.close();
});

/** A client of a receiver behind a proxy that has faults. */
async function connect(options: Partial<ChangesClientOptions> = {}) {
  fault = () => false;
  asked = [];
  const { url } = await start({ changes, role: 'receiver' });
  const isOpen = () => fetch(`${url}/changes?limit=1`, { headers: { Authorization: `Bearer ${token}` } });
  await until(async () => (await isOpen()).status === 200);
  proxy = createServer((req, res) => {
    const isStream = req.headers.accept === 'text/event-stream';
    asked.push(isStream ? 'stream' : 'page');
    if (fault(res, isStream)) return;
    const passed = request(url + req.url, { headers: req.headers }, (answer) => {
      res.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(res);
    });
    res.on('close', () => passed.destroy());
    passed.on('error', () => res.destroy()).end();
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const retry = { firstPauseMs: 20, longestPauseMs: 100 };
  client = createChangesClient({ baseUrl, token, pollMs: 50, retry, ...options });
  return client;
}

/** Collects the ids of changes until the test ends. */
function collect(query: Parameters<ChangesClient['changes']>[0] = {}) {
  const ids: string[] = [];
  const ending = new AbortController();
  const ended = (async () => {
    for await (const { id } of client.changes(query, { signal: ending.signal })) ids.push(id);
  })().catch((error) => error);
  const stop = () => {
    ending.abort();
    return ended;
  };
  return { ids, stop };
}

it('reads what is there in pages, then a stream; ends at once with the reason of the signal', async () => {
  await apply(database, [receipt(1), receipt(2), receipt(3)]);
  await connect();
  const { ids, stop } = collect({ families: ['receipt'], limit: 2 });
  await until(() => asked.includes('stream'));
  expect(ids).toEqual(['1', '2', '3']);
  await apply(database, [receipt(4)]);
  await until(() => ids.includes('4'));
  expect(asked.filter((kind) => kind === 'stream')).toHaveLength(1);
  expect(await stop()).toMatchObject({ name: 'AbortError' });
});

it('continues after outages, broken streams and 429 where it was, and obeys Retry-After', async () => {
  await apply(database, [receipt(1)]);
  const pauses: number[] = [];
  await connect({ onRetry: (_error, pauseMs) => pauses.push(pauseMs) });
  let answers = 0;
  fault = (res, isStream) => {
    answers += 1;
    if (answers === 1) return Boolean(res.writeHead(429, { 'Retry-After': '1' }).end());
    if (answers === 2) return Boolean(res.destroy());
    if (answers === 3) return Boolean(res.writeHead(503).end());
    // A stream that breaks off in an event.
    if (isStream && answers < 8) res.on('pipe', () => setTimeout(() => res.destroy(), 60));
    return false;
  };
  const { ids, stop } = collect();
  await until(() => ids.length === 1);
  expect(pauses[0]).toBeGreaterThanOrEqual(1_000);
  for (let id = 2; id <= 6; id += 1) {
    await apply(database, [receipt(id)]);
    await until(() => ids.includes(String(id)));
  }
  expect(ids).toEqual(['1', '2', '3', '4', '5', '6']);
  await stop();
});

it('reads pages where a proxy holds the stream back', async () => {
  await connect({ streamTimeoutMs: 1_000 });
  fault = (_res, isStream) => isStream;
  const { ids, stop } = collect();
  await until(() => asked.includes('stream'));
  await apply(database, [receipt(1)]);
  await until(() => ids.length === 1);
  expect(asked.filter((kind) => kind === 'stream')).toHaveLength(1);
  await stop();
});

it('ends with an error that says what to do where no retry helps', async () => {
  await connect();
  const failure = async (query: Parameters<ChangesClient['changes']>[0]) => {
    for await (const _ of client.changes(query));
  };
  const unknown = failure({ after: 'made-up' });
  await expect(unknown).rejects.toBeInstanceOf(ReadFromBeginning);
  await expect(unknown).rejects.toThrow('read from the beginning');
  fault = (res) => Boolean(res.writeHead(403).end());
  await expect(failure({})).rejects.toBeInstanceOf(Rejected);
  await client.close();
  proxy.close();
  await connect({ token: 'another' });
  await expect(failure({})).rejects.toBeInstanceOf(Unauthorized);
});

const follow = (
  handle: Parameters<typeof client.followChanges>[2],
  options: Parameters<typeof client.followChanges>[3] = {},
) => client.followChanges(database.pool, 'test', handle, options);
const insertTo: Parameters<typeof client.followChanges>[2] = ({ id, version }, transaction) =>
  transaction.query('insert into handled values ($1, $2)', [id, version]);
const handled = () => database.rows('select id, count(*)::int as times from handled group by 1 order by 1');

it('what a handler did before it failed is undone with its cursor, and done once when it is started again', async () => {
  await apply(database, [receipt(1), receipt(2)]);
  await database.rows('create table handled (id text, version bigint, primary key (id, version))');
  await connect();
  const failing = follow(async (change, transaction) => {
    await insertTo(change, transaction);
    if (change.id === '2') throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect(await handled()).toEqual([]);
  const ending = new AbortController();
  const following = follow(insertTo, { signal: ending.signal });
  await until(async () => (await handled()).length === 2);
  await apply(database, [receipt(3)]);
  await until(async () => (await handled()).length === 3);
  ending.abort();
  await following;
});

it('after a restored backup a follower fails, or begins anew with what it resets', async () => {
  await apply(database, [receipt(1)]);
  await database.rows('create table handled (id text, version bigint)');
  await connect();
  const once = new AbortController();
  await follow(
    async (change, transaction) => {
      await insertTo(change, transaction);
      once.abort();
    },
    { signal: once.signal },
  );
  // Another change has each position now.
  await database.rows('update changes set tag = gen_random_uuid()');
  await expect(follow(insertTo)).rejects.toBeInstanceOf(ReadFromBeginning);
  expect(await handled()).toEqual([{ id: '1', times: 1 }]);
  const again = new AbortController();
  await follow(
    async (change, transaction) => {
      await insertTo(change, transaction);
      again.abort();
    },
    { signal: again.signal, reset: (transaction) => transaction.query('delete from handled') },
  );
  expect(await handled()).toEqual([{ id: '1', times: 1 }]);
});
