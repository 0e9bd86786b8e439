import { type Kysely, sql } from 'kysely';
import type { Tables } from '../../store/tables.ts';

/** Why PostgreSQL refused a delivery's data, in words. */
export interface Cause {
  /** The stored text, which quotes no value. */
  error: string;
  /** Undefined: nothing is known about it. */
  meaning?: string | undefined;
  action?: string | undefined;
  /** The columns, where PostgreSQL tells them. */
  fields?: string | undefined;
  /** Of the constraint. */
  definition?: string | undefined;
}

const resend =
  'If the value is wrong, have the sender correct it: a newer version of the thing takes its place.';

/** By SQLSTATE, or its class. */
const meanings: Record<string, [meaning: string, action: string]> = {
  22001: [
    'A text is longer than its column.',
    'If it is right, lengthen the column (type text), and replay.',
  ],
  22003: [
    'A number is too large for its column.',
    `If it is right, widen the column (type numeric), and replay. ${resend}`,
  ],
  22007: ['A value is not a time that PostgreSQL reads.', resend],
  22008: ['A time lies outside of what PostgreSQL can store.', resend],
  22021: ['A text has a character that the database cannot store.', 'Use a database with the encoding UTF8.'],
  '22P02': ['A value has another type than its column, such as a text in place of a number.', resend],
  '22P05': [
    'A text has a character that the database cannot store.',
    'Use a database with the encoding UTF8.',
  ],
  22: ['PostgreSQL cannot read or store a value.', resend],
  23502: ['A value that must be there is missing.', 'If it may be missing, drop “not null”, and replay.'],
  23503: ['It refers to a row that is not there.', 'Add that row or drop the foreign key, and replay.'],
  23505: [
    'Another row has this value, which must be unique.',
    'Drop the unique constraint or that row, and replay.',
  ],
  23514: [
    'A value breaks a rule of the table (check constraint).',
    'If the rule is wrong, change or drop it, and replay.',
  ],
  23: ['A value breaks a constraint of the table.', 'Change or drop the constraint, and replay.'],
  54: [
    'A value is too large for PostgreSQL, or for an index.',
    'Drop the index that it does not fit in, and replay.',
  ],
};

interface Constraint {
  place: string;
  fields: string;
  definition: string;
}

/** Explains texts of `deliveries.error`. */
export async function readCauses(db: Kysely<Tables>, errors: readonly string[]): Promise<Cause[]> {
  const placeOf = (error: string) => / \((\w+\.\w+)\)$/.exec(error)?.[1] ?? '';
  const { rows } = await sql<Constraint>`
    select concat(t.relname, '.', c.conname) as place, pg_get_constraintdef(c.oid) as definition,
           (select string_agg(attname, ', ' order by attnum) from pg_attribute
            where attrelid = t.oid and attnum = any(c.conkey)) as fields
    from pg_constraint c join pg_class t on t.oid = c.conrelid
    where t.relnamespace = current_schema()::regnamespace
      and concat(t.relname, '.', c.conname) = any(${errors.map(placeOf)}::text[])`.execute(db);
  return errors.map((error) => {
    const place = placeOf(error);
    const [meaning, action] = meanings[error.slice(0, 5)] ?? meanings[error.slice(0, 2)] ?? [];
    const { fields, definition } = rows.find((row) => row.place === place) ?? {};
    const column = error.startsWith('23502') ? place.split('.')[1] : undefined;
    return { error, meaning, action, fields: fields ?? column, definition };
  });
}
