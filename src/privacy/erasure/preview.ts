import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Family } from '../../families/index.ts';
import type { Db } from '../../store/tables.ts';
import { withPlanForAnySize } from '../../store/transactions.ts';
import { type Counts, countHeld } from '../counts.ts';
import { findDeliveries, listedIds, type Patient, trimmed } from '../find-deliveries.ts';
import { findIdsBeside, findMentions, type Mention, maxMentions } from './beside.ts';
import { withholdDeliveries } from './erase-rows.ts';
import { findInQuarantine } from './find-in-quarantine.ts';
import { readHashes } from './running.ts';

const perPart = 1_000;

/** The effects of an erasure that has not run. */
export type Preview = Awaited<ReturnType<typeof previewErasure>>;

/**
 * Counts what an erasure would erase. Nothing changes, and nobody waits.
 *
 * @returns rows by table; other ids in the callbacks that it would erase; bodies that it would leave, see `findMentions`
 */
export async function previewErasure(
  db: Db,
  families: readonly Family[],
  given: Patient,
  { keepMs }: { keepMs: number },
) {
  const erasureId = randomUUID();
  const patient = trimmed(given);
  const beside = await findIdsBeside(db, patient);
  const preview = async (tx: Db) => {
    await sql`set local statement_timeout = 0`.execute(tx);
    await findDeliveries(tx, families, patient, erasureId);
    const counts = await countHeld(tx, families, erasureId);
    const found = Object.entries(counts).filter(([table, rows]) => rows > 0 || table === 'deliveries');
    await sql`insert into erasures (id, erased_by, counts) values (${erasureId}, '', '{}')`.execute(tx);
    const withholding = { erasureId, patients: await readHashes(tx, patient, erasureId), keepMs };
    let withheld = 0;
    for await (const ids of listedIds(tx, erasureId, perPart))
      withheld += await withholdDeliveries(tx, ids, withholding);
    const quarantine = await findInQuarantine(tx, families, patient, erasureId);
    const mentions = await findMentions(tx, patient, { listId: erasureId, quarantine });
    const all: Counts = { ...Object.fromEntries(found), withheld, quarantine: quarantine.length };
    return { counts: all, beside, mentions };
  };
  return withPlanForAnySize(db, preview, { dryRun: true });
}

/** The effects of an erasure besides the rows that it erases: names and texts. */
export function describePreview({ beside, mentions }: Preview): [name: string, text: string][] {
  const texts: [string, string][] = [
    [
      'Other ids in these callbacks (name those of this patient, too; data of other people here is erased)',
      beside.map(({ id, callbacks }) => `${id} (${callbacks})`).join(', '),
    ],
    ['Other bodies with the id as text, which stay unless they are named', describeMentions(mentions)],
  ];
  return texts.filter(([, text]) => text !== '');
}

const describeMentions = (mentions: readonly Mention[]) =>
  mentions.length > maxMentions
    ? `more than ${maxMentions}`
    : mentions.map(({ id, source }) => `${id} (${source})`).join(', ');
