import { type RawBuilder, type Selectable, sql, type UpdateObject } from 'kysely';
import type { Check, Core } from '../receiver/feature.ts';
import { type Actor, logAccess } from '../receiver/store/log-access.ts';
import type { Db, Tables } from '../receiver/store/tables.ts';
import { lastPosition, readHead } from './read-changes.ts';

export type Destination = Selectable<Tables['receiver.destinations']>;
type Values = UpdateObject<Tables, 'receiver.destinations'>;
type NewDestination = Pick<Destination, 'id' | 'url' | 'families' | 'business_id' | 'is_public' | 'secret'>;

/** In front of the name of a handler: such a destination has no address. */
export const handlerPrefix = 'handler:';

/** The outcome where that of an attempt is not known. */
export const processEnded = 'its process ended';

const maxFailingMs = 72 * 3_600_000;
const lateMs = 600_000;

export interface Attempt {
  /** The status, or the code of the error. */
  outcome: string;
  /** Undefined: the endpoint does not say. */
  retryAfterMs?: number | undefined;
}

/** Where this process is: a copy of the database, or a receiver with another address, is elsewhere. */
export const here = ({ config }: Core) => sql<string>`(
  select concat_ws(' ', ${config.publicUrl ?? null}::text, receiver.system_identifier(), oid, datname)
  from pg_database where datname = current_database())`;
const atOnce = sql<Date>`'-infinity'`;
const later = (ms: number | RawBuilder<number>) => sql<Date>`now() + ${ms} * interval '1 millisecond'`;
const isDue = (core: Core) => sql<boolean>`paused is null and place = ${here(core)} and next_at <= now()`;

// A process that is there takes up the next change at once.
const isLate = sql<boolean>`
  url like ${`${handlerPrefix}%`} and next_at < ${later(-lateMs)} and exists (
    select from receiver.changes c where c.position > destinations.position and family = any(families) and at < ${later(-lateMs)})`;

export const listDestinations = (core: Core) =>
  core.db
    .selectFrom('receiver.destinations')
    .selectAll()
    .select(sql<boolean>`place = ${here(core)}`.as('isHere'))
    .select(isLate.as('isLate'))
    .orderBy('created_at')
    .limit(1_000)
    .execute();

/** @param ids of handlers; undefined: addresses */
export async function findDue(core: Core, ids?: readonly string[]): Promise<string[]> {
  const due = core.db
    .selectFrom('receiver.destinations')
    .where(isDue(core))
    .where('position', '<', lastPosition)
    .where(ids ? sql<boolean>`id = any(${ids}::text[])` : sql<boolean>`url not like ${`${handlerPrefix}%`}`);
  return (await due.select('id').limit(1_000).execute()).map(({ id }) => id);
}

/** Adds a destination of what changes from now on, unless there is one with its id. */
export async function addDestination(core: Core, actor: Actor, destination: NewDestination): Promise<void> {
  const { id, families, business_id, is_public } = destination;
  const filter = { destination: id, families: families.join(), public: is_public };
  await logAccess(core, { actor, action: 'destination add', filter, ids: { business_id } });
  const position = String((await readHead(core.db)).head);
  await core.db
    .insertInto('receiver.destinations')
    .values({ ...destination, position, place: here(core) })
    .onConflict((existing) => existing.doNothing())
    .execute();
}

export const update = (db: Db, id: string) => db.updateTable('receiver.destinations').where('id', '=', id);

/** Nobody waits for the disk: a position that a crash sets back means that changes are sent again. */
const isSoonOnDisk = sql<boolean>`set_config('synchronous_commit', 'off', true) = 'off'`;

/** Takes a destination that is due, for one page: until the lease is over, no other process sends to it. */
export const take = (core: Core, id: string, leaseMs: number): Promise<Destination | undefined> =>
  update(core.db, id)
    .set({ next_at: later(leaseMs), is_leased: true })
    .where(isDue(core))
    .where(isSoonOnDisk)
    .returningAll()
    .executeTakeFirst();

const notLeased = { next_at: atOnce, is_leased: false };

/** Makes it due, unless another process has taken it since: the driver reads times in milliseconds. */
export const release = (db: Db, { id, next_at }: Destination) =>
  update(db, id)
    .set(notLeased)
    .where(sql<boolean>`date_trunc('milliseconds', next_at) = ${next_at}`)
    .execute();

/** @returns false where it has moved since: by another process, or a command. Then nobody keeps it. */
async function save(db: Db, destination: Destination, values: Values) {
  const { numUpdatedRows } = await update(db, destination.id)
    .set(values)
    .where('position', '=', destination.position)
    .where(isSoonOnDisk)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) await release(db, destination);
  return numUpdatedRows === 1n;
}

/** Makes it due. @returns false where it has moved since */
export function moveTo(db: Db, destination: Destination, next: number, outcome: string | null) {
  const values = { position: String(next), outcome, attempts: 0, failing_since: null, ...notLeased };
  return save(db, destination, values);
}

/** Records that the change after a position was not accepted: it is sent again later, unless this pauses the destination. */
export async function recordFailure(
  { db, config: { times } }: Core,
  destination: Destination,
  position: number,
  { outcome, retryAfterMs = 0 }: Attempt,
): Promise<void> {
  const firstMs = times.webhookPauseMs * (0.75 + Math.random() / 2);
  // The number of the row: a command may have set it back since.
  const pauseMs = sql<number>`
    least(greatest(${firstMs} * 2 ^ least(attempts, 30), ${retryAfterMs}), ${times.maxWebhookPauseMs}::float8)`;
  const values = {
    position: String(position),
    outcome,
    attempts: sql<number>`attempts + 1`,
    failing_since: sql<Date>`coalesce(failing_since, now())`,
    next_at: later(pauseMs),
    is_leased: false,
    paused: sql<'gone'>`coalesce(paused, case when ${outcome}::text = '410' then 'gone'
      when failing_since < ${later(-maxFailingMs)} then 'failing' end)`,
  };
  await save(db, destination, values);
}

export const checkDestinations = async (core: Core): Promise<Check[]> =>
  (await listDestinations(core)).map(
    ({ id, paused, isHere, isLate, outcome, failing_since: since }): Check => {
      const command = (name: string) => `receiver destinations ${name} ${id}`;
      const mend = id.startsWith(handlerPrefix) ? 'Mend the handler and restart it' : 'Mend the endpoint';
      const mended = `${mend}, then ${command('resume')}. To leave out the change that it refuses, before: ${command('skip')}`;
      const elsewhere = 'confirmed with another PUBLIC_URL, or in a database of which this may be a copy';
      const replaced = `If this one replaces it: ${command('resume')}. If it is a copy: ${command('remove')}`;
      // The first that is true.
      const states: [isState: unknown, Check['status'], title: string, todo?: string][] = [
        [paused === 'command', 'warn', 'Nothing is sent: paused by a command', command('resume')],
        [!isHere, 'fail', `Nothing is sent: ${elsewhere}`, replaced],
        [paused, 'fail', 'Changes are not accepted, and it is paused', mended],
        [isLate, 'fail', 'No process calls the handler', `Start one with HANDLERS, or: ${command('remove')}`],
        [since, 'warn', 'Changes are not accepted', mended],
        [outcome, 'ok', 'Changes are accepted'],
        [true, 'ok', 'No change was sent yet'],
      ];
      const [, status, title, todo] = states.find(([isState]) => isState)!;
      const detail = `The last attempt: ${outcome ?? 'none yet'}`;
      return { name: 'destination', about: id, status, title, detail, since: since ?? undefined, todo };
    },
  );
