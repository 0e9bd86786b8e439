import { createLog } from '../../src/common/log.ts';
import { addDestinationsCommand } from '../../src/feed/commands.ts';
import { checkDestinations } from '../../src/feed/destinations.ts';
import type { Handler } from '../../src/feed/handler.ts';
import { handlersTask } from '../../src/feed/handlers.ts';
import type { Core } from '../../src/receiver/feature.ts';
import { closeLater } from '../support/close-later.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { runCommand } from '../support/run-command.ts';
import { until } from '../support/until.ts';
import { change, openCore } from './support.ts';

const database = useReceiverDatabase('test');
const times = { webhookMs: 60_000, webhookEveryMs: 10, webhookPauseMs: 60_000, maxWebhookPauseMs: 60_000 };
const open = () =>
  openCore(database, { times: { ...times, webhookPageMs: 5_000, handlerMs: 60_000 } } as Parameters<
    typeof openCore
  >[1]);

/** Runs the task of a process, as with a start. @returns what stops it */
function startHandler(core: Core, run: Handler['run'], timeoutMs?: number): () => Promise<unknown> {
  const stopping = new AbortController();
  const handler: Handler = { name: 'mine', families: ['receipt'], run, ...(timeoutMs && { timeoutMs }) };
  const running = handlersTask(core, [handler]).run(stopping.signal);
  const stop = () => {
    stopping.abort();
    return running;
  };
  closeLater(stop);
  return stop;
}

const state = async () => {
  const [row] = await database.rows('select attempts, outcome, is_leased from receiver.destinations');
  return row;
};
/** A core whose database knows the handler, which has been called with nothing. */
async function openRegistered(): Promise<Core> {
  const core = open();
  await startHandler(core, async () => {})();
  return core;
}
const abortOf = (signal: AbortSignal) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
const failedTimes = (attempts: number) => until(async () => (await state())?.attempts === attempts);

it('a restart neither counts a failure of a handler again nor hides it', async () => {
  const core = await openRegistered();
  let calls = 0;
  const fail = async () => {
    calls += 1;
    throw Object.assign(new Error('of a record'), { code: 'MINE' });
  };
  const stop = startHandler(core, fail);
  await change(core, 1);
  await failedTimes(1);
  await stop();
  const failed = { attempts: 1, outcome: 'MINE', is_leased: false };
  for (let restart = 0; restart < 3; restart += 1) {
    const stopAgain = startHandler(core, fail);
    await until(
      async () => (await database.rows('select from receiver.destinations where next_at > now()'))[0],
    );
    await stopAgain();
    expect(await state()).toEqual(failed);
  }
  expect(calls).toBe(1);
});

it('the restart of a process that a call has ended counts that call', async () => {
  const core = await openRegistered();
  await database.rows(
    `update receiver.destinations set is_leased = true, next_at = now() + interval '1 minute'`,
  );
  startHandler(core, async () => {});
  await failedTimes(1);
  expect(await state()).toEqual({ attempts: 1, outcome: 'its process ended', is_leased: false });
});

it('a stop in the middle of a call leaves it to the next process, at once and uncounted', async () => {
  const core = await openRegistered();
  const versions: number[] = [];
  const stop = startHandler(core, ({ change: { version } }, { signal }) => {
    versions.push(version);
    return abortOf(signal);
  });
  await change(core, 1);
  await until(() => versions.length === 1);
  expect(await state()).toMatchObject({ is_leased: true });
  await stop();
  expect(await state()).toEqual({ attempts: 0, outcome: null, is_leased: false });
  startHandler(core, async ({ change: { version } }) => versions.push(version));
  await until(() => versions.length === 2);
  expect(versions[1]).toBe(versions[0]);
  await until(async () => (await state())?.outcome === 'done');
});

it('the first change is called alone, then at most twice as many each time', async () => {
  const core = await openRegistered();
  for (let id = 1; id <= 40; id += 1) await change(core, id);
  let [calls, running] = [0, 0];
  const most: number[] = [];
  startHandler(core, async () => {
    const n = calls++;
    running += 1;
    await new Promise(setImmediate);
    most[n] = running;
    running -= 1;
  });
  await until(() => calls === 40);
  const of = (from: number, to: number) => Math.max(...most.slice(from, to));
  expect(of(0, 1)).toBe(1);
  expect(of(1, 3)).toBeLessThanOrEqual(2);
  expect(of(3, 7)).toBeLessThanOrEqual(4);
});

it('no change is left out before it is known which one has ended the process', async () => {
  const core = await openRegistered();
  const skip = () => runCommand(core, addDestinationsCommand, 'destinations', 'skip', 'handler:mine');
  await startHandler(core, async () => {})();
  await change(core, 1);
  const ended = `update receiver.destinations set outcome = 'its process ended', attempts = attempts + 1`;
  await database.rows(ended);
  await expect(skip()).rejects.toThrow('not known before the next attempt');
  await database.rows(ended);
  expect(await skip()).toContain('receipt 1 is skipped');
});

it('a call that ends well after a stop is not repeated', async () => {
  const core = await openRegistered();
  let calls = 0;
  const stop = startHandler(core, (_event, { signal }) => {
    calls += 1;
    return new Promise((resolve) => signal.addEventListener('abort', () => setImmediate(resolve)));
  });
  await change(core, 1);
  await until(() => calls === 1);
  await stop();
  const moved = `select d.position = (select max(position) from receiver.changes) as "isMoved" from receiver.destinations d`;
  expect(await database.rows(moved)).toEqual([{ isMoved: true }]);
  expect(await state()).toEqual({ attempts: 0, outcome: 'done', is_leased: false });
});

const rejectWith = (code: unknown) => () => Promise.reject(Object.assign(new Error(), { code }));

it.each([
  ['a time-out', 100, () => new Promise(() => {}), 'TimeoutError'],
  ['a text', 60_000, () => Promise.reject('of a record'), 'unknown error'],
  ['a record', 60_000, () => Promise.reject({ name: 'Asha Rao', code: '+91 98765 43210' }), 'unknown error'],
  ['a code that is a text', 60_000, rejectWith('of a record'), 'Error'],
  ['a number as its code', 60_000, rejectWith(404), '404'],
])('the outcome says what a handler has failed by: %s', async (_, timeoutMs, run, outcome) => {
  const core = await openRegistered();
  startHandler(core, (_event, { signal }) => Promise.race([run(), abortOf(signal)]), timeoutMs);
  await change(core, 1);
  await failedTimes(1);
  expect(await state()).toMatchObject({ outcome });
});

it('the log has the place of what a handler throws, and nothing of its texts', async () => {
  const lines: string[] = [];
  const core = { ...(await openRegistered()), log: createLog('warn', { write: (line) => lines.push(line) }) };
  const error = new Error('550 refused\n    at Asha Rao (asha@example.org:1:1)');
  startHandler(core, async () => {
    throw Object.assign(error, { name: 'Asha Rao', code: '+91 98765 43210' });
  });
  await change(core, 1);
  await failedTimes(1);
  expect(lines.join('')).toContain('"type":"unknown error","at":"at ');
  expect(lines.join('')).toMatch(/handlers\.test\.ts:\d+/);
  expect(lines.join('')).not.toMatch(/asha|98765|refused/i);
});

it('a handler without any process is said to have none, also one that has failed before', async () => {
  const core = await openRegistered();
  await change(core, 1);
  await database.rows(`update receiver.changes set at = now() - interval '2 hours'`);
  const ago = `now() - interval '2 hours'`;
  await database.rows(
    `update receiver.destinations set attempts = 1, failing_since = ${ago}, next_at = ${ago}`,
  );
  expect(await checkDestinations(core)).toMatchObject([
    { status: 'fail', title: 'No process calls the handler' },
  ]);
});

it('a column that somebody adds to a table is not handed over, and stops no handler', async () => {
  const core = await openRegistered();
  const records: object[] = [];
  startHandler(core, async ({ record }) => records.push(record!));
  await change(core, 1);
  await until(() => records.length === 1);
  await database.rows('alter table receipts add column own text');
  await change(core, 1);
  await until(async () => records.length === 2 || (await state())?.attempts === 1);
  expect(Object.keys(records[1]!)).toEqual(Object.keys(records[0]!));
});
