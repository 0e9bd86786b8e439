import type { JSONColumnType, Kysely } from 'kysely';
import type { OwnTables } from '../../../db/own-tables.d.ts';
import type { Tables as Queried } from '../../../db/tables.d.ts';
import type { Family } from '../../callbacks/families/family.ts';
import type { families } from '../../callbacks/families/index.ts';
import type { RowOf } from '../../callbacks/families/row.ts';
import type { FieldError, QuarantineReason } from '../../callbacks/rejection.ts';

/** The database, or a transaction in it. */
export type Db = Kysely<Tables>;

/** What PostgreSQL does not know of columns. */
interface Narrower {
  'public.access_log': { filter: JSONColumnType<Record<string, unknown>> };
  'receiver.aliases': { kind: 'business' | 'clinic' | 'doctor' };
  'receiver.changes': { kind: 'changed' | 'deleted' | 'erased' };
  'receiver.destinations': { paused: 'command' | 'gone' | 'failing' | null };
  'receiver.erasures': { counts: JSONColumnType<Record<string, number>> };
  'receiver.findings': { status: 'warn' | 'fail'; sent_status: 'warn' | 'fail' | null };
  'receiver.quarantine': { reason: QuarantineReason; errors: JSONColumnType<FieldError[]> };
  'receiver.reconciliations': { counts: JSONColumnType<Record<string, number>, string | undefined> };
}

type Narrowed = {
  [T in keyof OwnTables]: T extends keyof Narrower
    ? Omit<OwnTables[T], keyof Narrower[T]> & Narrower[T]
    : OwnTables[T];
};

type Deliveries = Queried['deliveries'];

/** A view that the receiver itself reads. Of its columns only the error may be null. */
interface OwnViews {
  'public.deliveries': {
    [C in keyof Deliveries]: C extends 'error' ? Deliveries[C] : NonNullable<Deliveries[C]>;
  } & { status: 'received' | 'applied' | 'failed' };
}

type TablesOf<List extends readonly Family[]> = {
  [F in List[number] as `public.${F['table']}`]: RowOf<F>;
};

/** Tables and views of the receiver and of the documented families. */
export type Tables = Narrowed & OwnViews & TablesOf<typeof families>;

/** A fact of this database, see the comment of `receiver.settings`. */
export async function readSetting(db: Db, name: string): Promise<string | undefined> {
  const settings = db.selectFrom('receiver.settings').select('value').where('name', '=', name);
  return (await settings.executeTakeFirst())?.value;
}

export async function writeSettings(db: Db, values: Record<string, string>): Promise<void> {
  await db
    .insertInto('receiver.settings')
    .values(Object.entries(values).map(([name, value]) => ({ name, value })))
    .onConflict((row) => row.column('name').doUpdateSet(({ ref }) => ({ value: ref('excluded.value') })))
    .execute();
}
