import { z } from 'zod';
import type { ChangedRecords, PublicColumns } from './changed-records.ts';

export type FamilyName = keyof ChangedRecords;

/** The columns that are read: `public`, those that cannot identify a patient, as with a public token. */
export type Fields = 'all' | 'public';

export type RecordOf<Family extends FamilyName, F extends Fields = 'all'> = F extends 'public'
  ? Pick<ChangedRecords[Family], PublicColumns[Family] & keyof ChangedRecords[Family]>
  : ChangedRecords[Family];

interface ChangeOf<Family> {
  /** What follows this change is read after it. */
  readonly cursor: string;
  readonly family: Family;
  readonly business_id: string;
  /** That of the record; of a health account, a pseudonym. */
  readonly id: string;
  /** The record's last event; null where it is gone. */
  readonly event: string | null;
  /** The newer one of two changes of a record has the greater version. */
  readonly version: number;
  readonly changed_at: string | null;
}

/** A change of a record of these families, with what the record contains when it is read. */
export type Change<Family extends FamilyName = FamilyName, F extends Fields = 'all'> = {
  [Name in Family]: ChangeOf<Name> &
    (
      | { readonly kind: 'changed'; readonly record: RecordOf<Name, F> }
      | { readonly kind: 'deleted'; readonly record: RecordOf<Name, F> | null }
      | { readonly kind: 'erased'; readonly record: null }
    );
}[Family];

const change = {
  cursor: z.string(),
  family: z.string(),
  business_id: z.string(),
  id: z.string(),
  event: z.string().nullable(),
  version: z.number(),
  changed_at: z.string().nullable(),
};
const record = z.record(z.string(), z.unknown());

/** A change of any family; its record is not validated: later versions of the receiver add columns. */
export const changeSchema = z.discriminatedUnion('kind', [
  z.object({ ...change, kind: z.literal('changed'), record }),
  z.object({ ...change, kind: z.literal('deleted'), record: record.nullable() }),
  z.object({ ...change, kind: z.literal('erased'), record: z.null() }),
]);
