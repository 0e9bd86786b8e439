import { readFileSync } from 'node:fs';
import { type Profiler, Session } from 'node:inspector/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startParts } from '../../src/app/start-parts.ts';
import { families } from '../../src/callbacks/families/index.ts';
import type { Config } from '../../src/common/config/config.ts';
import { createLog } from '../../src/common/log.ts';
import { startReceiver } from '../../src/receiver/receiver.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { closeLater } from '../support/close-later.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { useRedis } from '../support/redis.ts';
import { post, testConfig } from '../support/service.ts';
import { sign } from '../support/sign.ts';
import { until } from '../support/until.ts';

const page = 'docs/how-it-works.md';
const key = 'k'.repeat(32);
const never = 2 ** 31 - 1;
/** Nothing but a callback makes anything run. */
const times = {
  drainEveryMs: never,
  maxDrainPauseMs: never,
  sweepEveryMs: never,
  pollMs: never,
};

const database = useReceiverDatabase();
const session = new Session();
const redis = useRedis();
beforeAll(async () => {
  session.connect();
  await session.post('Debugger.enable');
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
});
afterAll(() => session.disconnect());

async function start(role: Config['role']): Promise<string> {
  const config = testConfig({ role, redisUrl: redis.url, authentication: { signingKeys: [key] }, times });
  const options = { databaseUrl: database.url, families, log: createLog('silent') };
  const { result, stop } = await startParts((onStop) => startReceiver(config, options, onStop));
  closeLater(stop);
  return result.url;
}

async function send(url: string, receipt_id: number): Promise<number> {
  const body = JSON.stringify(receiptCallback({ data: { receipt_id } }));
  const { status } = await post(url + paths.receipt, body, { 'X-Webhook-Signature': sign(key, body) });
  return status;
}

/** The files of src of which a function has run since the last call. */
async function filesThatRan(): Promise<string[]> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const files: string[] = [];
  for (const { url, scriptId, functions } of result) {
    const path = relative('src', url.startsWith('file:') ? fileURLToPath(url) : url);
    const ran = functions.filter(({ ranges }) => ranges[0]!.count > 0);
    if (path.startsWith('..') || !path.endsWith('.ts') || ran.length === 0) continue;
    const { scriptSource } = await session.post('Debugger.getScriptSource', { scriptId });
    // The compiler makes a getter of each export.
    const isOwn = ({ ranges }: Profiler.FunctionCoverage) =>
      !/^(get )?\w+ ?\(\) ?\{\s*return \w+;\s*\}$/.test(
        scriptSource.slice(ranges[0]!.startOffset, ranges[0]!.endOffset),
      );
    // On a busy machine something may be logged meanwhile, which is no step of the path.
    if (ran.some(isOwn) && path !== 'common/log.ts') files.push(path);
  }
  return files;
}

/** The files that run each time: what a part does once, after its start, is no step of the path. */
async function filesOfEach(run: () => Promise<void>): Promise<string[]> {
  const rounds: string[][] = [];
  for (let round = 0; round < 3; round += 1) {
    await filesThatRan();
    await run();
    rounds.push(await filesThatRan());
  }
  return rounds[0]!.filter((path) => rounds.every((files) => files.includes(path)));
}

function listed(section: string): string[] {
  const [, text] = readFileSync(page, 'utf8').split(`## ${section}\n`);
  const [list] = text!.split('\n## ');
  return Array.from(list!.matchAll(/^\d+\. `([^`]+)`/gm), ([, path]) => path!);
}

function changes(section: string, ran: readonly string[]) {
  const list = listed(section);
  return {
    [`${page}, ${section}: add`]: ran.filter((path) => !list.includes(path)),
    [`${page}, ${section}: remove`]: list.filter((path) => !ran.includes(path)),
  };
}

it('the files that a receipt passes, to the 200 and to its row, are those that the documents list', async () => {
  const url = await start('receiver');
  let id = 0;
  const sendNext = async () => {
    id += 1;
    expect(await send(url, id)).toBe(200);
  };
  await sendNext();
  const toThe200 = await filesOfEach(sendNext);

  await start('worker');
  const sendUntilRow = async () => {
    await sendNext();
    await until(() => database.count(`receipts where receipt_id = ${id}`));
  };
  await sendUntilRow();
  const toTheRow = await filesOfEach(async () => {
    await sendUntilRow();
    // A row is there before its merge has ended: that of the next one comes after it.
    await sendUntilRow();
  });

  const sections = ['From the request to the 200', 'From the inbox to the row'] as const;
  const found = {
    ...changes(sections[0], toThe200),
    ...changes(
      sections[1],
      toTheRow.filter((path) => !toThe200.includes(path)),
    ),
  };
  expect(found).toEqual(Object.fromEntries(Object.keys(found).map((name) => [name, []])));
});
