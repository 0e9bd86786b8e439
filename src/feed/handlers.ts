import { describeThrown, type Log } from '../common/log.ts';
import { withDeadline, withTimeout } from '../common/timeouts.ts';
import type { Core, Task } from '../receiver/feature.ts';
import { createGroupCommit } from '../receiver/intake/group-commit.ts';
import { columnsOf, isRowOf, quoted, tableOf } from '../receiver/store/columns.ts';
import { queryPrepared } from '../receiver/store/pools.ts';
import { addDestination, handlerPrefix, processEnded, recordFailure, update } from './destinations.ts';
import type { Handler, HandlerEvent } from './handler.ts';
import type { Change } from './read-changes.ts';
import { done, sendChanges, type Transport } from './send.ts';

/** Calls the handlers for changes. Each is a destination, which is added with its first start. */
export const handlersTask = (core: Core, handlers: readonly Handler[]): Task => ({
  name: 'handlers',
  everyMs: core.config.times.webhookEveryMs,
  leaseMs: core.config.times.handlersLeaseMs,
  run: async (signal) => {
    await registerHandlers(core, handlers);
    const transport = createTransport(core, handlers);
    await recordInterrupted(core, transport);
    await sendChanges(core, transport, signal);
  },
});

const maxEvents = 50;

const idOf = ({ name }: Handler) => `${handlerPrefix}${name}`;

/** Adds the destinations of new handlers. @throws the database's error */
export async function registerHandlers(core: Core, handlers: readonly Handler[]): Promise<void> {
  for (const handler of handlers) {
    const id = idOf(handler);
    const families = [...handler.families];
    const { numUpdatedRows } = await update(core.db, id).set({ families }).executeTakeFirst();
    if (numUpdatedRows > 0n) continue;
    const none = { business_id: null, is_public: false, secret: '' };
    await addDestination(core, { id: 'destination', name: id }, { id, url: id, families, ...none });
  }
}

/** Only the holder of the task calls handlers, so a lease is that of a process that has ended, perhaps because of them. */
async function recordInterrupted(core: Core, { ids }: Transport): Promise<void> {
  const leased = await core.db
    .selectFrom('receiver.destinations')
    .selectAll()
    .where('id', 'in', ids!)
    .where('is_leased', '=', true)
    .execute();
  for (const destination of leased)
    await recordFailure(core, destination, Number(destination.position), { outcome: processEnded });
}

function createTransport(core: Core, handlers: readonly Handler[]): Transport {
  const byId = new Map(handlers.map((handler) => [idOf(handler), handler]));
  const timeoutOf = ({ timeoutMs = core.config.times.handlerMs }: Handler) => timeoutMs;
  const reader = createReader(core);
  return {
    ids: [...byId.keys()],
    limitMs: Math.max(...handlers.map(timeoutOf)),
    deliver: async ({ id }, change, signal) => {
      const handler = byId.get(id)!;
      const event = await reader.append(change);
      const about = { handler: handler.name, family: change.family, record: change.record_id };
      const log = core.log.child(about);
      let call: Promise<unknown> | undefined;
      try {
        await withDeadline(timeoutOf(handler), signal, (ending) => {
          call = (async () => handler.run(event, { signal: ending, log }))();
          return call;
        });
        return { outcome: done };
      } catch (error) {
        const thrown = describeThrown(error);
        if (!signal.aborted) log.warn(thrown, 'a handler has failed');
        const isDone = await ended(call, timeoutOf(handler), log);
        if (signal.aborted && isDone) return { outcome: done };
        return { outcome: thrown.code ?? thrown.type };
      }
    },
  };
}

/** The next attempt must not begin beside a call that goes on. @returns whether there was one, and it has ended well */
async function ended(
  call: Promise<unknown> | undefined,
  limitMs: number,
  log: Pick<Log, 'error'>,
): Promise<boolean> {
  const settled = Promise.resolve(call).then(
    () => call !== undefined,
    () => false,
  );
  return withTimeout(limitMs, settled).catch(() => {
    log.error('a handler goes on without regard for its signal: its process ends, and is started again');
    process.exit(1);
  });
}

/** Reads of changes that are handed over at the same time share a statement. */
const createReader = (core: Core) =>
  createGroupCommit<Change, HandlerEvent>({
    commit: (changes) => readEvents(core, changes),
    maxItems: maxEvents,
  });

/** The records as they are now: they may have been erased since the changes. @returns an event for each, in order */
async function readEvents({ pool, families }: Core, changes: readonly Change[]): Promise<HandlerEvent[]> {
  const found = new Map<Change, { record: object; callback: unknown }>();
  for (const family of families) {
    const own = changes.filter((change) => change.family === family.name);
    if (own.length === 0) continue;
    const columns = Object.keys(columnsOf(family)).map((name) => `t.${quoted(name)}`);
    // No field has names with a blank.
    const text = `select k.n::int as "n ", ${columns}, (select envelope from receiver.inbox where id = t.delivery_id) as "callback "
      from unnest($1::text[], $2::text[]) with ordinality as k(business_id, record_id, n) join ${tableOf(family)} t on ${isRowOf(family)}`;
    const values = [own.map(({ business_id }) => business_id), own.map(({ record_id }) => record_id)];
    for (const { 'n ': n, 'callback ': callback, ...record } of await queryPrepared(pool, { text, values }))
      found.set(own[n - 1]!, { record, callback });
  }
  return changes.map((change) => {
    const { record, callback } = found.get(change) ?? { record: null, callback: null };
    return { family: change.family, change: change.about, record, callback } as HandlerEvent;
  });
}
