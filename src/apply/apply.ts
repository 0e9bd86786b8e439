import { type RawBuilder, sql } from 'kysely';
import pg from 'pg';
import type { Family } from '../families/index.ts';
import { insertQuery } from '../intake/insert-deliveries.ts';
import { knownGoodVersions } from '../intake/probe-inbox.ts';
import { failureCode } from '../store/failure.ts';
import { describeRefusal, isOutage, isRefusal } from '../store/faults.ts';
import { queryPrepared } from '../store/prepared.ts';
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
}

const nothing: Applied = { applied: 0, changed: 0, failed: [], broken: [] };

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
  try {
    return await applyTogether(db, families, ids, options);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
    const [family, ...others] = families;
    if (others.length === 0) {
      const isBroken = isOutage(error) || (!isRefusal(error) && !(await isWritable(db, family!)));
      if (isBroken) return { ...nothing, broken: [{ family: family!.name, error }] };
      return applyOneByOne(db, family!, ids, options);
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
 * afterwards: if another delivery, or a known-good one, changes the table, the delivery becomes `failed`, with the reason.
 * If none does, the table is broken and its deliveries stay as they are.
 */
async function applyOneByOne(db: Db, family: Family, ids: readonly string[], options: ApplyOptions) {
  const total = { ...nothing };
  const undecided: { id: string; error: pg.DatabaseError }[] = [];
  // A fault of the table may have ended before something was applied: only what fails after that, too, is at fault.
  const failUndecided = async () => {
    for (const { id } of undecided.splice(0)) {
      try {
        add(total, await applyTogether(db, [family], [id], options));
      } catch (error) {
        if (!(error instanceof pg.DatabaseError)) throw error;
        if (isOutage(error)) return error;
        const reason = describeRefusal(error);
        const isMarked = options.dryRun || (await markFailed(db, id, options.status, reason));
        if (isMarked) total.failed = [...total.failed, { id, error: reason }];
      }
    }
    return undefined;
  };
  for (const [index, id] of ids.entries()) {
    let outage: pg.DatabaseError | undefined;
    try {
      const result = await applyTogether(db, [family], [id], options);
      add(total, result);
      if (result.changed > 0) outage = await failUndecided();
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) throw error;
      undecided.push({ id, error });
      if (isOutage(error)) outage = error;
    }
    const isDue = undecided.length >= maxUndecided || (undecided.length > 0 && index === ids.length - 1);
    // One that has failed before stays so, whatever the reason is.
    const isDecided = options.status === 'failed';
    if (isDue && !outage) {
      if (isDecided || (await isWritable(db, family))) outage = await failUndecided();
      else outage = undecided[0]!.error;
    }
    if (outage) return { ...total, broken: [{ family: family.name, error: outage }] };
  }
  return total;
}

/** Whether a known-good delivery and a later version of its record can be applied; both are rolled back. */
async function isWritable(db: Db, family: Family): Promise<boolean> {
  const versions = knownGoodVersions(family);
  const { text, values } = insertQuery(versions, { timeoutMs: 0 });
  const apply = async (tx: Db) => {
    await runText(tx, text, values);
    for (const { id } of versions) {
      const rows = await runText<Result>(tx, applyStatement([family]), [[id]]);
      if (rows[0]!.changed === 0) return false;
    }
    await sql`set constraints all immediate`.execute(tx);
    return true;
  };
  try {
    return await withPlanForAnySize(db, apply, true);
  } catch (error) {
    if (error instanceof pg.DatabaseError) return false;
    throw error;
  }
}

/** Databases whose feed of changes was open when a job was last applied. */
const recordingOn = new WeakSet<pg.Pool>();

/** Applies all deliveries or, when it throws, none. */
async function applyTogether(
  db: Db,
  families: readonly Family[],
  ids: readonly string[],
  { status, preparedOn, dryRun = false }: ApplyOptions,
): Promise<Applied> {
  const attempt = (recordsChanges: boolean) => {
    const text = applyStatement(families, status, recordsChanges);
    // Plans the statement anew, as a prepared one is planned.
    const inTransaction = () => withPlanForAnySize(db, (tx) => runText<Result>(tx, text, [ids]), dryRun);
    return preparedOn && !dryRun
      ? queryPrepared<Result>(preparedOn, { text, values: [ids] }, inTransaction)
      : inTransaction();
  };
  // The feed was opened, or another worker has written a greater version meanwhile: a second attempt sees that.
  const again = (error: unknown) => (isDropped(error) ? attempt(true) : Promise.reject(error));
  const recordsChanges = !preparedOn || recordingOn.has(preparedOn);
  const rows = await attempt(recordsChanges).catch(again).catch(explained);
  const { applied, changed, waitedS = null, isOpen } = rows[0]!;
  if (preparedOn) recordingOn[isOpen ? 'add' : 'delete'](preparedOn);
  return { ...nothing, applied, changed, waitedS };
}

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

function add(total: Applied, { applied, changed, failed, broken, waitedS }: Applied): void {
  total.applied += applied;
  total.changed += changed;
  total.failed = [...total.failed, ...failed];
  total.broken = [...total.broken, ...broken];
  total.waitedS = Math.max(total.waitedS ?? 0, waitedS ?? 0);
}

/** @returns false where another worker has changed the status meanwhile, which then stays */
async function markFailed(db: Db, id: string, status: DeliveryStatus = 'received', error: string) {
  const { numAffectedRows } = await failing[status](id, error).execute(db);
  return numAffectedRows! > 0n;
}

const moveToFailed = (table: string, appliedAt: string) => (id: string, error: string) =>
  sql`
  with failed as (
    delete from ${sql.table(table)} where id = ${id} returning id, family, received_at, ${sql.raw(appliedAt)} as applied_at)
  insert into failed_deliveries (id, family, received_at, error, applied_at)
  select id, family, received_at, ${error}, applied_at from failed`;

const failing: Record<DeliveryStatus, (id: string, error: string) => RawBuilder<unknown>> = {
  received: moveToFailed('pending_deliveries', 'null::timestamptz'),
  failed: (id, error) => sql`update failed_deliveries set error = ${error} where id = ${id}`,
  applied: moveToFailed('applied_deliveries', 'applied_at'),
};
