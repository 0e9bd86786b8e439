import { type RawBuilder, sql } from 'kysely';
import pg from 'pg';
import type { Family } from '../families/index.ts';
import { insertQuery } from '../intake/insert-deliveries.ts';
import { knownGoodVersions, wideKnownGood } from '../intake/probe-inbox.ts';
import { queryPrepared } from '../receiver/store/prepared.ts';
import { type Connection, withConnection } from '../store/database.ts';
import { failureCode } from '../store/failure.ts';
import { describeRefusal, isDamaged, isLocked, isOutage } from '../store/faults.ts';
import type { Db, DeliveryStatus } from '../store/tables.ts';
import { runText, withPlanForAnySize } from '../store/transactions.ts';
import { applyStatement } from './apply-statement.ts';

export interface Applied {
  applied: number;
  /** Rows of the families' tables that changed. */
  changed: number;
  failed: { id: string; error: string }[];
  /** Families whose table could not be written, for a reason other than a delivery's data. */
  broken: { family: string; error: pg.DatabaseError }[];
  /** Those that a lock, a damaged page or a state that cannot be written keeps from being applied: they are as they were. */
  blocked: { id: string; family: string; error: pg.DatabaseError }[];
  /** Seconds from the receipt of the oldest delivery to the statement; null without deliveries. */
  waitedS?: number | null;
}

export interface ApplyOptions {
  /** Deliveries with another status are skipped. */
  status?: DeliveryStatus;
  /** Connections for prepared statements, with the settings `planForAnySize`. */
  preparedOn?: pg.Pool;
  /** Every transaction is rolled back, so that nothing changes. */
  dryRun?: boolean;
  /** How long the first attempt waits for a lock. Default: the session's. */
  lockTimeoutMs?: number | undefined;
  /** One of `preparedOn`. */
  connection?: Connection | undefined;
}

const nothing: Applied = { applied: 0, changed: 0, failed: [], broken: [], blocked: [] };

// The lock timeout of an attempt with one delivery: another worker releases its locks within milliseconds.
const lockTimeoutMs = 50;
// After some attempts in vain: all of a job may wait for one row.
const shortLockTimeoutMs = 5;
const maxLockTimeouts = 10;
// Each takes as long as some deliveries.
const maxMoves = 20;

/**
 * Applies deliveries to their families' tables, each exactly once: the same statement takes them off the pending
 * deliveries. If the statement fails, the families are applied separately, so that a broken table does not delay
 * the others. A family that fails is applied one by one.
 *
 * @param options `status`: by default `received`
 * @throws the driver's error where the connection broke or timed out
 */
export async function applyDeliveries(
  db: Db,
  families: readonly Family[],
  ids: readonly string[],
  options: ApplyOptions = {},
): Promise<Applied> {
  if (ids.length === 0) return nothing;
  try {
    return await applyTogether(db, families, ids, options);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
    const [family, ...others] = families;
    if (others.length === 0) {
      if (isOutage(error) && !isLocked(error))
        return { ...nothing, broken: [{ family: family!.name, error }] };
      const alone = isLocked(error) ? { ...options, lockTimeoutMs } : options;
      if (!options.preparedOn) return applyOneByOne(db, family!, ids, alone);
      return withConnection(options.preparedOn, (connection) =>
        applyOneByOne(connection.db, family!, ids, { ...alone, connection }),
      );
    }
  }
  const total = { ...nothing };
  for (const family of families) add(total, await applyDeliveries(db, [family], ids, options));
  return total;
}

// Each costs an attempt before a broken table is noticed.
const maxUndecided = 10;

/**
 * Applies deliveries of one family one by one. Whether an error is the fault of its delivery or of the table shows
 * afterwards: if another delivery, or a known-good one, changes the table, the delivery becomes `failed`, with the reason;
 * or it is `blocked`, where a lock or a damaged page is the reason. If none does, the table is broken and its deliveries
 * stay as they are.
 */
async function applyOneByOne(db: Db, family: Family, job: readonly string[], options: ApplyOptions) {
  const ids = await ofFamily(db, family, job);
  const total = { ...nothing };
  const undecided: Undecided[] = [];
  let { lockTimeoutMs: timeoutMs } = options;
  let lockTimeouts = 0;
  let moves = 0;
  let outage: pg.DatabaseError | undefined;
  let broken: pg.DatabaseError | undefined;

  const attempt = async (id: string): Promise<Applied | pg.DatabaseError> => {
    for (let isAgain = false; ; isAgain = true) {
      try {
        return await applyTogether(db, [family], [id], { ...options, lockTimeoutMs: timeoutMs });
      } catch (error) {
        if (!(error instanceof pg.DatabaseError)) throw error;
        if (isLocked(error)) {
          lockTimeouts += 1;
          timeoutMs = lockTimeouts < maxLockTimeouts ? lockTimeoutMs : shortLockTimeoutMs;
        }
        if (!isDamaged(error) || isAgain || !options.connection || moves === maxMoves) return error;
        moves += 1;
        await useOtherPages(db, family);
      }
    }
  };
  const block = (id: string, error: pg.DatabaseError) => {
    total.blocked = [...total.blocked, { id, family: family.name, error }];
  };
  const fail = async (id: string, error: pg.DatabaseError) => {
    const reason = describeRefusal(error);
    try {
      const isMarked = options.dryRun || (await markFailed(db, id, options.status, reason));
      if (isMarked) total.failed = [...total.failed, { id, error: reason }];
    } catch (cause) {
      if (!(cause instanceof pg.DatabaseError)) throw cause;
      if (isOutage(cause) && !isLocked(cause)) outage = cause;
      else block(id, cause);
    }
  };
  /** The table can be written to. A fault of it may have ended before: only what fails after that, too, is at fault. */
  const settle = async () => {
    broken = undefined;
    for (const { id, error: first } of undecided.splice(0)) {
      if (outage) return;
      const result = isLocked(first) || isDamaged(first) ? first : await attempt(id);
      if (!(result instanceof pg.DatabaseError)) add(total, result);
      else if (isLocked(result) || isDamaged(result)) block(id, result);
      else if (isOutage(result)) outage = result;
      else await fail(id, result);
    }
  };
  /** Nothing was applied meanwhile. Only a known-good delivery can tell; one that has failed before stays so. */
  const decide = async () => {
    const verdict = options.status === 'failed' ? 'writable' : await probe(db, family);
    if (verdict === 'writable') return settle();
    if (verdict === 'broken') broken = undecided[0]!.error;
    // These are on the page, whatever else is broken.
    const [damaged, left] = partition(undecided.splice(0), ({ error }) => isDamaged(error));
    for (const { id, error } of damaged) block(id, error);
    undecided.push(...left);
    broken ??= left[0]?.error;
  };

  for (const id of ids) {
    const result = await attempt(id);
    if (!(result instanceof pg.DatabaseError)) {
      add(total, result);
      if (result.changed > 0) await settle();
    } else if (isOutage(result) && !isLocked(result)) {
      outage = result;
    } else {
      undecided.push({ id, error: result });
      if (undecided.length >= maxUndecided && !broken) await decide();
    }
    // Where some can be applied, the others of the job are tried.
    if (outage || (broken && total.applied === 0)) break;
  }
  if (undecided.length > 0 && !outage && (!broken || total.applied > 0)) await decide();
  const error = outage ?? broken;
  return error ? { ...total, broken: [{ family: family.name, error }] } : total;
}

/** Those of the family; all of them where that cannot be read. */
async function ofFamily(db: Db, { name }: Family, ids: readonly string[]): Promise<readonly string[]> {
  try {
    const { rows } = await sql<{ id: string }>`
      select id from inbox where id = any(${ids}::uuid[]) and family = ${name}`.execute(db);
    const own = new Set(rows.map(({ id }) => id));
    return ids.filter((id) => own.has(id));
  } catch (error) {
    if (error instanceof pg.DatabaseError) return ids;
    throw error;
  }
}

function partition<T>(items: readonly T[], matches: (item: T) => boolean): [T[], T[]] {
  return [items.filter(matches), items.filter((item) => !matches(item))];
}

interface Undecided {
  id: string;
  error: pg.DatabaseError;
}

// A trigger may raise for some records.
const maxProbes = 8;

/**
 * Whether known-good deliveries, and later versions of their records, can be applied; all are rolled back.
 *
 * @returns `unknown`: a damaged page keeps them from being stored
 */
async function probe(db: Db, family: Family): Promise<'writable' | 'broken' | 'unknown'> {
  for (let probes = 1; ; probes += 1) {
    let isStored = false;
    const versions = knownGoodVersions(family);
    const { text, values } = insertQuery(versions, { timeoutMs: 0 });
    const apply = async (tx: Db) => {
      await runText(tx, text, values);
      isStored = true;
      for (const { id } of versions) {
        const rows = await runText<Result>(tx, applyStatement([family]), [[id]]);
        if (rows[0]!.changed === 0) return false;
      }
      await sql`set constraints all immediate`.execute(tx);
      return true;
    };
    try {
      if (await withPlanForAnySize(db, apply, { dryRun: true })) return 'writable';
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) throw error;
      if (isOutage(error)) return 'broken';
      if (isDamaged(error) && !isStored) return 'unknown';
    }
    if (probes === maxProbes) return 'broken';
  }
}

/**
 * After an error of a damaged page: PostgreSQL's map of free space may have offered that page for a new row, and would do so
 * again and again. Rows that are too long for what is free there go to other pages, where this connection then puts
 * its next rows, too.
 *
 * @param db one connection
 */
export async function useOtherPages(db: Db, family: Family): Promise<void> {
  const { inInbox, inTable } = wideKnownGood(family);
  const store = async (tx: Db) => {
    for (const one of [inInbox, inTable]) {
      const { text, values } = insertQuery([one], { timeoutMs: 0 });
      await runText(tx, text, values);
    }
    await runText(tx, applyStatement([family]), [[inTable.id]]);
  };
  try {
    await withPlanForAnySize(db, store, { dryRun: true });
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
  }
}

/** Databases whose feed of changes was open when a job was last applied. */
const recordingOn = new WeakSet<pg.Pool>();

/** Applies all deliveries or, when it throws, none. */
async function applyTogether(
  db: Db,
  families: readonly Family[],
  ids: readonly string[],
  options: ApplyOptions,
): Promise<Applied> {
  const { status, preparedOn, dryRun = false, lockTimeoutMs, connection } = options;
  if (preparedOn && lockTimeoutMs !== undefined && !connection) {
    return withConnection(preparedOn, (opened) =>
      applyTogether(opened.db, families, ids, { ...options, connection: opened }),
    );
  }
  const attempt = (recordsChanges: boolean) => {
    const text = applyStatement(families, status, recordsChanges);
    // Plans the statement anew, as a prepared one is planned.
    const run = (tx: Db) => runText<Result>(tx, text, [ids]);
    const inTransaction = () => withPlanForAnySize(db, run, { dryRun, lockTimeoutMs });
    if (!preparedOn || dryRun) return inTransaction();
    const prepared = runOn(connection, lockTimeoutMs) ?? ((query) => preparedOn.query<Result>(query));
    return queryPrepared<Result>(preparedOn, { text, values: [ids] }, async (query) =>
      query.name ? prepared(query) : { rows: await inTransaction() },
    );
  };
  // The feed was opened, or another worker has written a greater version meanwhile: a second attempt sees that.
  const again = (error: unknown) => (isDropped(error) ? attempt(true) : Promise.reject(error));
  const recordsChanges = !preparedOn || recordingOn.has(preparedOn);
  const rows = await attempt(recordsChanges).catch(again).catch(explained);
  const { applied, changed, waitedS = null, isOpen } = rows[0]!;
  if (preparedOn) recordingOn[isOpen ? 'add' : 'delete'](preparedOn);
  return { ...nothing, applied, changed, waitedS };
}

const runOn = (connection: Connection | undefined, lockTimeoutMs: number | undefined) =>
  connection &&
  (async (query: pg.QueryConfig): Promise<pg.QueryResult<Result>> => {
    const { client } = connection;
    if (lockTimeoutMs === undefined) return client.query<Result>(query);
    await client.query('begin');
    try {
      await client.query(`set local lock_timeout = ${lockTimeoutMs}`);
      const result = await client.query<Result>(query);
      await client.query('commit');
      return result;
    } catch (error) {
      await client.query('rollback');
      throw error;
    }
  });

const isDropped = (error: unknown) => error instanceof pg.DatabaseError && error.code === failureCode;

function explained(error: Error): never {
  if (isDropped(error))
    error.message = 'a trigger drops rows of the table or of applied_deliveries, or row security hides them';
  throw error;
}

type Result = Pick<Applied, 'applied' | 'changed' | 'waitedS'> & { isOpen: boolean };

/** Applies applied deliveries again, in a transaction with the settings `planForAnySize`. @returns the rows changed */
export async function applyAgain(tx: Db, families: readonly Family[], ids: readonly string[]) {
  if (ids.length === 0) return 0;
  return (await runText<Result>(tx, applyStatement(families, 'applied'), [ids]))[0]!.changed;
}

function add(total: Applied, { applied, changed, failed, broken, blocked, waitedS }: Applied): void {
  total.applied += applied;
  total.changed += changed;
  total.failed = [...total.failed, ...failed];
  total.broken = [...total.broken, ...broken];
  total.blocked = [...total.blocked, ...blocked];
  total.waitedS = Math.max(total.waitedS ?? 0, waitedS ?? 0);
}

/** @returns false where another worker has changed the status meanwhile, which then stays */
async function markFailed(db: Db, id: string, status: DeliveryStatus = 'received', error: string) {
  const { numAffectedRows } = await failing[status](id, error).execute(db);
  return numAffectedRows! > 0n;
}

const moveToFailed = (table: string) => (id: string, error: string) =>
  sql`
  with failed as (
    delete from ${sql.table(table)} where id = ${id} returning id, family, received_at, applied_at)
  insert into failed_deliveries (id, family, received_at, error, applied_at)
  select id, family, received_at, ${error}, applied_at from failed`;

const failing: Record<DeliveryStatus, (id: string, error: string) => RawBuilder<unknown>> = {
  received: moveToFailed('pending_deliveries'),
  failed: (id, error) => sql`update failed_deliveries set error = ${error} where id = ${id}`,
  applied: moveToFailed('applied_deliveries'),
};
