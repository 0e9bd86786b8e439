import { addMessage, type MessageGroup } from '../common/message-groups.ts';
import { type Family, other } from '../families/index.ts';
import type { Db, DeliveryStatus } from '../store/tables.ts';
import { applyDeliveries } from './apply.ts';
import { replayOther } from './replay-other.ts';

/**
 * Selects deliveries; undefined fields do not filter, except for the status, which is then `failed`. Of the family `other`,
 * it selects the deliveries whose event a family lists by now, and the status is then `applied`.
 */
export interface ReplayFilter {
  status?: DeliveryStatus | undefined;
  family?: string | undefined;
  event?: string | undefined;
  businessId?: string | undefined;
  id?: string | undefined;
  /** The exact text of `deliveries.error`. */
  error?: string | undefined;
  /** Time of receipt. */
  since?: Date | undefined;
  until?: Date | undefined;
}

const chunk = 500;

export async function countDeliveries(db: Db, families: readonly Family[], filter: ReplayFilter) {
  const { rows } = await matching(db, families, filter)
    .select(({ fn }) => fn.countAll<string>().as('rows'))
    .executeTakeFirstOrThrow();
  return Number(rows);
}

export type ReplayOutcome = Awaited<ReturnType<typeof replayDeliveries>>;

export interface ReplayOptions {
  /** Each chunk's transaction is rolled back, so that nothing changes. */
  dryRun: boolean;
  /** No further chunk is begun after this many. */
  limit?: number;
  onProgress?: (replayed: number) => void;
}

/**
 * Applies deliveries again, those that failed unless the filter says otherwise, in chunks. It is safe to
 * repeat: a row changes only where it would hold something else afterwards.
 *
 * @returns the number of deliveries `applied` and `failed`, and of rows `changed` in the families' tables
 * @throws the database's error when it is not about the data
 */
export async function replayDeliveries(
  db: Db,
  families: readonly Family[],
  filter: ReplayFilter,
  { dryRun, limit = Number.POSITIVE_INFINITY, onProgress }: ReplayOptions,
) {
  const status = statusOf(filter);
  const outcome = { applied: 0, changed: 0, failed: 0, errors: [] as MessageGroup[] };
  let last = '';
  while (outcome.applied + outcome.failed < limit) {
    let query = matching(db, families, filter).select('id').orderBy('id').limit(chunk);
    if (last) query = query.where('id', '>', last);
    const ids = (await query.execute()).map(({ id }) => id);
    if (ids.length === 0) break;
    last = ids.at(-1)!;
    const result = isOther(filter)
      ? await replayOther(db, families, ids, dryRun)
      : await applyDeliveries(db, families, ids, { status, dryRun });
    const [stopped] = [...result.broken, ...result.blocked];
    if (stopped) throw stopped.error;
    outcome.applied += result.applied;
    outcome.changed += result.changed;
    outcome.failed += result.failed.length;
    for (const { id, error } of result.failed) addMessage(outcome.errors, error, id);
    onProgress?.(result.applied + result.failed.length);
  }
  return outcome;
}

/** What the outcome of a dry run means; empty: a replay does what it says. */
export function adviceOn({ status }: ReplayFilter, { applied, changed, failed }: ReplayOutcome): string {
  if (failed > 0 && applied === 0)
    return 'A replay would apply nothing: every delivery would fail again. Remove the cause first.';
  if (applied === 0 || changed > 0) return '';
  const then =
    status === 'applied'
      ? 'So there is nothing to replay.'
      : 'The deliveries would no longer be failed ones.';
  return `No row would change: the tables already hold these versions, or newer ones. ${then}`;
}

const isOther = ({ family, status }: ReplayFilter) =>
  family === other.name && (status ?? 'applied') === 'applied';

const statusOf = (filter: ReplayFilter) => filter.status ?? (isOther(filter) ? 'applied' : 'failed');

function matching(db: Db, families: readonly Family[], filter: ReplayFilter) {
  let query = db.selectFrom('stated_deliveries').where('status', '=', statusOf(filter));
  if (isOther(filter)) query = query.where('event', 'in', ['', ...families.flatMap(({ events }) => events)]);
  if (filter.family) query = query.where('family', '=', filter.family);
  if (filter.event) query = query.where('event', '=', filter.event);
  if (filter.businessId) query = query.where('business_id', '=', filter.businessId);
  if (filter.id) query = query.where('id', '=', filter.id);
  if (filter.error) query = query.where('error', '=', filter.error);
  if (filter.since) query = query.where('received_at', '>=', filter.since);
  if (filter.until) query = query.where('received_at', '<', filter.until);
  return query;
}
