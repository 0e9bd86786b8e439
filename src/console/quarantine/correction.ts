import { type Kysely, sql } from 'kysely';
import { type Family, publicEnvelopeFields } from '../../families/index.ts';
import type { QuarantineRow } from '../../intake/quarantine-rows.ts';
import type { Tables } from '../../store/tables.ts';
import { isPublicField } from '../redact.ts';

type Errors = QuarantineRow['errors'];

/** A field of a rejected body that can be corrected without seeing the rest. */
export interface CorrectableField {
  /** A JSON pointer, which is its name in the form too. */
  path: string;
  messages: string;
  /** Its value as JSON; empty: it is not there, or is hidden. */
  value: string;
  /** Its value is personal data. An empty entry leaves it as it is. */
  hidden: boolean;
}

const partsOf = (path: string) => path.split('/').slice(1);

/** The fields that the errors name; none: the errors are not about fields. */
export function correctableFields(
  body: Buffer,
  errors: Errors,
  families: readonly Family[],
): CorrectableField[] {
  const paths = [...new Set(errors.map(({ path }) => path))];
  const document = parse(body);
  if (!document || paths.some((path) => !path || path.includes('…'))) return [];
  return paths.map((path) => {
    const parts = partsOf(path);
    const [first = '', second = ''] = parts;
    const shown = first === 'data' ? isPublicField(families, second) : publicEnvelopeFields.has(first);
    const value = valueAt(document, parts);
    const hidden = value !== undefined && !(shown && parts.length === (first === 'data' ? 2 : 1));
    return {
      path,
      messages: errors.flatMap((error) => (error.path === path ? error.message : [])).join('; '),
      value: hidden || value === undefined ? '' : JSON.stringify(value),
      hidden,
    };
  });
}

/** What was entered into a form: JSON by path. An empty text removes the field. */
export function readChanges(form: Record<string, unknown>, fields: readonly CorrectableField[]) {
  const changes: Record<string, string> = {};
  const faults: Record<string, string> = {};
  for (const { path, value } of fields) {
    const entered = String(form[path] ?? value).trim();
    if (entered === value) continue;
    changes[path] = entered;
    if (entered && !isJson(entered)) {
      faults[path] = 'It is not JSON: write a text in double quotes, and a number without.';
    }
  }
  return { changes, faults };
}

/**
 * A body with other values of some fields. PostgreSQL changes them, so that numbers keep all their digits.
 *
 * @returns undefined: PostgreSQL cannot read the body
 */
export async function changeFields(
  db: Kysely<Tables>,
  body: Buffer,
  changes: Record<string, string>,
): Promise<Buffer | undefined> {
  const changed = Object.entries(changes).reduce(
    (document, [path, value]) =>
      value === ''
        ? sql`${document} #- ${partsOf(path)}::text[]`
        : sql`jsonb_set(${document}, ${partsOf(path)}::text[], ${value}::jsonb)`,
    sql`convert_from(${body}::bytea, 'UTF8')::jsonb`,
  );
  try {
    const { rows } = await sql<{ text: string }>`select (${changed})::text as text`.execute(db);
    return Buffer.from(rows[0]!.text);
  } catch (error) {
    // Class 22: data exceptions.
    if ((error as { code?: string }).code?.startsWith('22')) return undefined;
    throw error;
  }
}

function parse(body: Buffer): object | undefined {
  try {
    const document: unknown = JSON.parse(body.toString());
    return typeof document === 'object' && document !== null ? document : undefined;
  } catch {
    return undefined;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const valueAt = (document: unknown, parts: readonly string[]): unknown =>
  parts.reduce<unknown>(
    (value, part) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, part)
        ? (value as Record<string, unknown>)[part]
        : undefined,
    document,
  );
