import { sql } from 'kysely';
import type { Db } from '../../store/tables.ts';
import { mayBeIdle } from '../../store/transactions.ts';
import { checkPseudonyms } from './verify-pseudonyms.ts';

/** An entry of the access log, by which it can be checked later. */
export interface LogHead {
  entry: bigint;
  /** In hexadecimal. */
  hash: string;
}

/** Entries, both included, and what is wrong with them. */
export interface LogProblem {
  from: bigint;
  to: bigint;
  problem: string;
}

export interface VerifyOptions {
  /** A former head, which was kept elsewhere. */
  kept?: LogHead | undefined;
  /** Entries per query. */
  page?: number;
  onProblem: (problem: LogProblem) => void;
  /** Called before the first entries are read. */
  onTotal?: (entries: number) => void;
  /** Called after each page, with the number of its entries. */
  onProgress?: (entries: number) => void;
}

const lowest = '-9223372036854775808';

/** The hash of an empty log: sha256(''). */
const genesis: LogHead = {
  entry: 0n,
  hash: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
};

/**
 * Checks the chain of the access log, and the ids of patients beside it, in one snapshot. The database computes the hashes, with its built-in functions
 * only: whoever may change the log might have replaced those of the service.
 *
 * @returns the head of the log
 */
export function verifyLog(db: Db, options: VerifyOptions): Promise<LogHead> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      await sql.raw(mayBeIdle).execute(trx);
      return verify(trx, options);
    });
}

async function verify(trx: Db, options: VerifyOptions): Promise<LogHead> {
  const { kept, page = 20_000, onTotal, onProgress } = options;
  const report = (from: bigint, to: bigint, problem: string) => options.onProblem({ from, to, problem });
  const deleted = await readDeleted(trx);
  const { rows } = await sql<{ total: number }>`
    select count(*)::float8 as total from access_log`.execute(trx);
  const { total } = rows[0]!;
  onTotal?.(total);

  let checked = 0;
  let last: LogHead | undefined;
  for (;;) {
    const after = last?.entry.toString() ?? lowest;
    const { rows: pages } = await sql<{ to: string | null; entries: number }>`
      select max(entry) as to, count(*)::int as entries
      from (
        select entry from access_log where entry > ${after} order by entry limit ${page}
      ) entries`.execute(trx);
    const { to, entries } = pages[0]!;
    if (to === null) break;
    for (const row of await readPage(trx, after, to, last)) {
      const entry = BigInt(row.entry);
      const before = row.before === null ? undefined : BigInt(row.before);
      if (row.changed) report(entry, entry, 'changed: its content does not have its hash');
      if (entry < 1n) report(entry, entry, 'added: the log begins with entry 1');
      else if (before === undefined || before < 1n)
        checkFirst({ entry, hash: row.previous }, deleted, report);
      else if (entry > before + 1n) report(before + 1n, entry - 1n, 'removed');
      else if (row.unchained) report(before, entry, 'not chained: one of them was replaced, with its hash');
      last = { entry, hash: row.hash };
    }
    checked += entries;
    onProgress?.(entries);
  }
  if (checked < total) report(0n, 0n, `${total - checked} entries without a valid number were added`);

  const head = await checkHead(trx, last ?? genesis, report);
  if (kept) await checkKept(trx, kept, deleted, report);
  await checkPseudonyms(trx, report);
  return head;
}

type ReportProblem = (from: bigint, to: bigint, problem: string) => void;

/** Entries of a page that are wrong or do not follow the one before, and the last one. */
async function readPage(trx: Db, after: string, to: string, last: LogHead | undefined) {
  // An infinite time cannot be converted to a number.
  const { rows } = await sql<{
    entry: string;
    before: string | null;
    previous: string;
    hash: string;
    changed: boolean;
    unchained: boolean;
  }>`
    select entry, before, encode(previous, 'hex') as previous, encode(hash, 'hex') as hash,
           hash is distinct from computed as changed, previous is distinct from before_hash as unchained
    from (
      select entry, previous, hash,
             lag(entry, 1, ${last?.entry.toString() ?? null}::bigint) over entries as before,
             lag(hash, 1, decode(${last?.hash ?? null}, 'hex')) over entries as before_hash,
             sha256(previous || array_send(patients) || convert_to(jsonb_build_array(
               entry, case when isfinite(at) then (extract(epoch from at) * 1000000)::bigint end, actor, actor_name,
               address, action, filter, rows
             )::text, 'UTF8')) as computed
      from access_log
      where entry > ${after} and entry <= ${to}
      window entries as (order by entry)
    ) chain
    where hash is distinct from computed or previous is distinct from before_hash
      or entry is distinct from before + 1 or entry = ${to}
    order by entry`.execute(trx);
  return rows;
}

/** The last entry that retention deleted. */
async function readDeleted(trx: Db): Promise<LogHead> {
  const { rows } = await sql<{ through: string; hash: string }>`
    select filter #>> '{access_log,through}' as through, filter #>> '{access_log,hash}' as hash
    from access_log where action = 'retention' and filter #>> '{access_log,through}' ~ '^[0-9]{1,18}$'
    order by entry desc limit 1`.execute(trx);
  return rows[0] ? { entry: BigInt(rows[0].through), hash: rows[0].hash } : genesis;
}

function checkFirst(first: LogHead, deleted: LogHead, report: ReportProblem): void {
  const before = first.entry - 1n;
  if (before > deleted.entry) report(deleted.entry + 1n, before, 'removed');
  // Where retention is not yet done, entries that it may delete are the first.
  const expected = [genesis, deleted].find(({ entry }) => entry === before);
  if (expected && expected.hash !== first.hash) {
    report(first.entry, first.entry, 'not chained: it was replaced, or the entries before it were');
  }
}

async function checkHead(trx: Db, last: LogHead, report: ReportProblem): Promise<LogHead> {
  const { rows } = await sql<{ entry: string; hash: string }>`
    select entry, encode(hash, 'hex') as hash from access_log_head`.execute(trx);
  if (rows.length !== 1)
    report(last.entry, last.entry, `access_log_head has ${rows.length} rows instead of one`);
  for (const { entry, hash } of rows) {
    const head = BigInt(entry);
    if (head > last.entry) report(last.entry + 1n, head, 'removed from the end');
    else if (head < last.entry)
      report(head + 1n, last.entry, 'added at the end, or access_log_head was changed');
    else if (hash !== last.hash) report(head, head, 'changed, or access_log_head was: their hashes differ');
  }
  return last;
}

async function checkKept(trx: Db, kept: LogHead, deleted: LogHead, report: ReportProblem): Promise<void> {
  const { rows } = await sql<{ hash: string }>`
    select encode(hash, 'hex') as hash from access_log where entry = ${kept.entry.toString()}`.execute(trx);
  const known = [...rows.map(({ hash }) => ({ entry: kept.entry, hash })), genesis, deleted];
  const there = known.find(({ entry }) => entry === kept.entry);
  if (there?.hash === kept.hash) return;
  if (there) report(kept.entry, kept.entry, 'not the entry of this --head: its hash is another');
  else if (kept.entry > deleted.entry)
    report(kept.entry, kept.entry, 'the entry of this --head is not in the log');
  else report(kept.entry, kept.entry, 'the entry of this --head was deleted by retention: keep a later one');
}
