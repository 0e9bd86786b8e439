import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { type Applied, applyDeliveries, useOtherPages } from '../apply/apply.ts';
import { applyStatement } from '../apply/apply-statement.ts';
import type { Log } from '../common/log.ts';
import { countApplied } from '../common/metrics.ts';
import type { Family } from '../families/index.ts';
import {
  type Blocked,
  type BlockedCause,
  block,
  type Due,
  hasBlocked,
  listDue,
  postpone,
  unblock,
} from '../store/blocked-deliveries.ts';
import { describeDamage } from '../store/damage.ts';
import { type Database, withConnection } from '../store/database.ts';
import { isDamaged, isLocked, isOutage } from '../store/faults.ts';
import { describeHolder } from '../store/lock-holders.ts';
import type { Db } from '../store/tables.ts';
import { runText, withPlanForAnySize } from '../store/transactions.ts';

export type SetAside = ReturnType<typeof createSetAside>;

interface SetAsideDependencies {
  /** Not the connections that apply jobs. */
  database: Pick<Database, 'db' | 'pool'>;
  families: readonly Family[];
  log: Log;
}

interface Pass {
  isOver: () => boolean;
  /** Applies and reports them; or none. @throws the database's error */
  apply: (of: readonly Family[], ids: readonly string[], onSession?: (pid: number) => void) => Promise<void>;
  /** See `describe`. */
  detailOf: (error: pg.DatabaseError) => Promise<string | null>;
}

const idsPerPass = 500;
const passMs = 5_000;
const lockTimeoutMs = 100;
const lookEveryMs = 15;
/** For so long, a job waits shortly for a lock. */
const cautiousMs = 60_000;

const none: Applied = { applied: 0, changed: 0, failed: [], broken: [], blocked: [] };

const causeOf = (error: unknown): BlockedCause =>
  isLocked(error) ? 'locked' : isDamaged(error) ? 'damaged' : 'state not writable';

/**
 * Deliveries that wait for something of their own: a row that somebody locks, a damaged page, a state that cannot be written.
 * They are out of the way of the others, and each is tried alone until it is applied.
 */
export function createSetAside({ database, families, log }: SetAsideDependencies) {
  const { db, pool } = database;
  /** How many are tried together, by group: what was learned in a pass that was too short counts in the next one. */
  const sizes = new Map<string, number>();
  let isAny = false;
  let cautiousUntil = 0;

  /** What a delivery waits for, and what ends that; null: not known. */
  const describe = async (error: pg.DatabaseError): Promise<string | null> => {
    const cause = causeOf(error);
    if (cause === 'locked') return null;
    if (cause === 'state not writable') {
      return `a state that cannot be written: SQLSTATE ${error.code}${error.table ? ` of ${error.table}` : ''}. Remove the cause, such as a trigger of failed_deliveries`;
    }
    return (
      (await describeDamage(pool, error)) ??
      `a damaged page: SQLSTATE ${error.code}. PostgreSQL's log has its message`
    );
  };

  /** `describe`, once for each message. */
  const describingOnce = () => {
    const details = new Map<string, Promise<string | null>>();
    return (error: pg.DatabaseError) => {
      const detail = details.get(error.message) ?? describe(error);
      details.set(error.message, detail);
      return detail;
    };
  };

  /** Applies deliveries, also those in inbox without a status, and takes them off this list. */
  const applyNow = (
    on: Db,
    of: readonly Family[],
    ids: readonly string[],
    onSession: (pid: number) => void = () => {},
  ) =>
    withPlanForAnySize(
      on,
      async (tx) => {
        const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx);
        onSession(rows[0]!.pid);
        let applied = await run(tx, of, 'received', ids);
        if (applied < ids.length) {
          // A resend may be about to give it a status.
          await sql`select from inbox where id = any(${ids}::uuid[]) order by id for update`.execute(tx);
          applied += await run(tx, of, 'no status', ids);
        }
        await unblock(tx, ids);
        return applied;
      },
      { lockTimeoutMs },
    );

  /** What the attempt of this session waits for, as soon as it waits. */
  const findHolder = async (pid: () => number | undefined, signal: AbortSignal) => {
    while (!signal.aborted) {
      const found = pid() === undefined ? undefined : await describeHolder(db, pid()!);
      if (found) return found;
      await sleep(lookEveryMs, undefined, { signal }).catch(() => {});
    }
    return undefined;
  };

  /** @returns whether it is applied */
  const tryAlone = async (
    { apply, detailOf }: Pass,
    of: readonly Family[],
    one: Blocked,
  ): Promise<boolean> => {
    const ended = new AbortController();
    let pid: number | undefined;
    const isLookedFor = one.cause === 'locked';
    const holder = isLookedFor ? findHolder(() => pid, ended.signal).catch(() => undefined) : undefined;
    const onSession = (own: number) => {
      pid = own;
    };
    try {
      await apply(of, [one.id], onSession);
      return true;
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) throw error;
      ended.abort();
      if (isLocked(error)) {
        await postpone(db, { ...one, cause: 'locked', detail: (await holder) ?? null });
      } else if (isDamaged(error)) {
        await postpone(db, { ...one, cause: 'damaged', detail: await detailOf(error) });
      } else if (isOutage(error)) {
        throw error;
      } else if (one.cause === 'state not writable') {
        await tryToFail(of, one);
      } else {
        await unblock(db, [one.id]); // its data or its table is at fault by now: a job finds out
      }
      return false;
    } finally {
      ended.abort();
    }
  };

  const tryToFail = async (of: readonly Family[], one: Blocked): Promise<void> => {
    const started = performance.now();
    const result = await applyDeliveries(db, of, [one.id]);
    const [still] = result.blocked;
    if (!still) await unblock(db, [one.id]);
    else {
      await postpone(db, { ...one, cause: causeOf(still.error), detail: await describe(still.error) });
    }
    report(result, started);
  };

  /** @returns the error; undefined: they are applied */
  const tryTogether = async (pass: Pass, of: readonly Family[], some: readonly Blocked[]) => {
    try {
      await pass.apply(
        of,
        some.map(({ id }) => id),
      );
      return undefined;
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) throw error;
      return error;
    }
  };

  /**
   * First all together, because what they wait for may have ended. A lock takes time to find, so each is tried alone after it. A
   * damaged page is found at once: after an error half as many are tried, after a success twice as many, which finds the few that
   * are on the page among many that could not be stored there.
   */
  const tryGroup = async (pass: Pass, of: readonly Family[], key: string, group: readonly Due[]) => {
    let size = sizes.get(key) ?? idsPerPass;
    for (let at = 0; at < group.length && !pass.isOver(); sizes.set(key, size)) {
      const some = group.slice(at, at + size);
      if (some.length === 1) {
        const isApplied = await tryAlone(pass, of, some[0]!);
        at += 1;
        size = isApplied ? 2 : 1;
        continue;
      }
      const error = await tryTogether(pass, of, some);
      if (error) {
        size = isDamaged(error) ? Math.ceil(some.length / 2) : 1;
      } else {
        at += some.length;
        size = Math.min(2 * size, idsPerPass);
      }
    }
  };

  /** After an error of a damaged page, the next rows go to other pages: of the connection, which the pool then gives again. */
  const startPass = (signal: AbortSignal): Pass => {
    const end = performance.now() + passMs;
    /** Its rows go to other pages since its last error. */
    let moved: Family | undefined;
    return {
      isOver: () => signal.aborted || performance.now() > end,
      apply: async (of, ids, onSession) => {
        const started = performance.now();
        // Not for the whole pass: the pool may have one connection, and what is noted meanwhile needs one.
        const applied = await withConnection(pool, async (connection) => {
          const attempt = () => applyNow(connection.db, of, ids, onSession);
          return attempt().catch(async (error) => {
            const [family] = of;
            if (!isDamaged(error) || moved === family) throw error;
            moved = family;
            await useOtherPages(connection.db, family!);
            return attempt();
          });
        });
        moved = undefined; // they may be full now
        report({ ...none, applied, changed: applied }, started);
      },
      detailOf: describingOnce(),
    };
  };

  const tryGroups = async (due: readonly Due[], signal: AbortSignal): Promise<void> => {
    const pass = startPass(signal);
    for (const [key, group] of groupsOf(due)) {
      const of = families.filter(({ name }) => name === group[0]!.family);
      if (of.length > 0) await tryGroup(pass, of, key, group);
    }
  };

  const report = (result: Applied, started: number) => {
    if (result.applied + result.failed.length === 0) return;
    countApplied(result, (performance.now() - started) / 1000);
  };

  return {
    /** How long a job may wait for a lock; undefined: as long as usual. */
    lockTimeoutMs: () => (performance.now() < cautiousUntil ? lockTimeoutMs : undefined),

    add: async (blocked: Applied['blocked']): Promise<void> => {
      if (blocked.length === 0) return;
      const detailOf = describingOnce();
      const described = blocked.map(async ({ id, family, error }) => {
        return { id, family, cause: causeOf(error), detail: await detailOf(error) };
      });
      const all = await Promise.all(described);
      await block(db, all);
      if (all.some(({ cause }) => cause === 'locked')) cautiousUntil = performance.now() + cautiousMs;
      const [{ family, cause, detail }] = all as [Blocked];
      if (!isAny) log.warn({ family, cause, detail, count: all.length }, 'deliveries are set aside');
      isAny = true;
    },

    /**
     * Tries those that are due.
     *
     * @param alone runs the attempts, unless another process tries
     */
    retry: async (
      alone: (work: () => Promise<void>) => Promise<unknown>,
      signal: AbortSignal,
    ): Promise<void> => {
      const lists = await listDue(db, idsPerPass);
      const due = lists.flat();
      const tryLists = async () => {
        for (const list of lists) await tryGroups(list, signal);
      };
      if (due.length > 0) await alone(tryLists);
      const wasAny = isAny;
      isAny = due.length > 0 || (isAny && (await hasBlocked(db)));
      if (isAny && due.some(({ cause }) => cause === 'locked'))
        cautiousUntil = performance.now() + cautiousMs;
      if (wasAny && !isAny) log.info('deliveries that were set aside are applied');
    },
  };
}

async function run(tx: Db, of: readonly Family[], status: 'received' | 'no status', ids: readonly string[]) {
  const rows = await runText<{ applied: number }>(tx, applyStatement(of, status), [ids]);
  return rows[0]!.applied;
}

/** By family, cause and whether they were tried. */
function groupsOf(deliveries: readonly Due[]): Map<string, Due[]> {
  const groups = new Map<string, Due[]>();
  for (const one of deliveries) {
    const key = `${one.family} ${one.cause} ${one.isTried}`;
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  return groups;
}
