import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Family } from '../../families/index.ts';
import type { Db } from '../../store/tables.ts';
import { withPlanForAnySize } from '../../store/transactions.ts';
import { type Counts, countHeld } from '../counts.ts';
import { findDeliveries, listedIds, type Patient } from '../find-deliveries.ts';
import { withholdDeliveries } from './erase-rows.ts';
import { findInQuarantine } from './find-in-quarantine.ts';
import { findUncertain, indexWords } from './find-uncertain.ts';
import { findOthers, withLinked } from './linked-ids.ts';
import { readHashes } from './running.ts';

const perPart = 1_000;

/** The effects of an erasure that has not run. */
export type Preview = Awaited<ReturnType<typeof previewErasure>>;

/**
 * Counts what an erasure would erase. Nothing but an index changes, and nobody waits.
 *
 * @returns rows by table; other ids of the patient, and other people, whose data it would erase, too; bodies that it would
 *   leave to a person
 */
export async function previewErasure(
  db: Db,
  families: readonly Family[],
  given: Patient,
  { keepMs }: { keepMs: number },
) {
  const erasureId = randomUUID();
  await indexWords(db);
  const patient = await withLinked(db, given);
  const others = await findOthers(db, patient);
  const preview = async (tx: Db) => {
    await sql`set local statement_timeout = 0`.execute(tx);
    await findDeliveries(tx, families, patient, erasureId);
    const counts = await countHeld(tx, families, erasureId);
    const found = Object.entries(counts).filter(([table, rows]) => rows > 0 || table === 'deliveries');
    await sql`insert into erasures (id, erased_by, counts) values (${erasureId}, '', '{}')`.execute(tx);
    const withholding = { erasureId, patients: await readHashes(tx, patient, erasureId), keepMs };
    let withheld = 0;
    for await (const ids of listedIds(tx, erasureId, perPart))
      withheld += await withholdDeliveries(tx, families, ids, withholding);
    const quarantine = await findInQuarantine(tx, families, patient, erasureId);
    const uncertain = await findUncertain(tx, patient, erasureId, quarantine);
    const all: Counts = { ...Object.fromEntries(found), withheld, quarantine: quarantine.length };
    return { counts: all, linked: patient.linked, others, uncertain };
  };
  return withPlanForAnySize(db, preview, { dryRun: true });
}

const shown = 20;

/** The effects of an erasure besides the rows that it erases: names and texts. */
export function describePreview({ linked, others, uncertain }: Preview): [name: string, text: string][] {
  const left = [...uncertain.deliveries, ...uncertain.quarantine];
  const texts: [string, string][] = [
    ['Other ids of the patient, erased too', linked.join(', ')],
    ['Other patients in what is erased', others.ids.join(', ')],
    ['Callbacks with a person in billing', others.billing > 0 ? String(others.billing) : ''],
    [
      'Bodies with the id as a word, hidden until a person decides',
      left.length > 0 ? `${left.length}: ${left.slice(0, shown).join(', ')}` : '',
    ],
  ];
  return texts.filter(([, text]) => text !== '');
}
