import { Decimal, withDecimals } from '../callbacks/exact-json.ts';
import { commonColumns, type Family } from '../callbacks/families/family.ts';
import { contents, hidden, withoutContents } from '../callbacks/health-contents.ts';
import { isPublicMember, isPublicValue } from '../callbacks/reduce.ts';
import type { Row } from './read-record.ts';

/** The columns of every row that cannot identify a patient. */
const publicColumns = ['business_id', ...Object.keys(commonColumns).filter((name) => name !== 'extra')];

type Values = Readonly<Record<string, unknown>>;

const mapRow = (row: Row, change: (value: string, name: string) => string): Row =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value ? change(value, name) : value]));

export const maskRow = (row: Row, family: Family): Row =>
  mapRow(row, (value, name) => {
    const isPublic = publicColumns.includes(name) || family.fields[name]?.personal === false;
    return isPublic ? value : hidden;
  });

/** A callback without what is personal. Undocumented names may be personal too. */
function maskEnvelope({ data, ...members }: Values, family: Family | undefined): Values {
  const mask = (values: Values, isShown: (name: string, value: unknown) => boolean) => {
    const shown = Object.entries(values).filter(([name, value]) => isShown(name, value));
    const count = Object.keys(values).length - shown.length;
    return { ...Object.fromEntries(shown), ...(count > 0 ? { [hidden]: `${count} more` } : {}) };
  };
  return {
    ...mask(members, isPublicMember),
    data: mask((data ?? {}) as Values, (name, value) => isPublicValue(family, name, value)),
  };
}

function hasContents(text: string): boolean {
  try {
    const value = JSON.parse(text);
    return JSON.stringify(value) !== JSON.stringify(withoutContents(value));
  } catch {
    return contents.test(text);
  }
}

export const hideContents = (row: Row): Row =>
  mapRow(row, (value) => (hasContents(value) ? readableBody(value) : value));

const readable = (_key: string, value: unknown) =>
  value instanceof Decimal ? (value.plain() ?? value.canonical) : value;

/** A body without the contents of health records. @param maskedFor its family, if known: without what is personal, too */
export function readableBody(body: string, maskedFor?: { family: Family | undefined }): string {
  try {
    const value = withDecimals(body, JSON.parse(body));
    const shown = maskedFor ? maskEnvelope((value ?? {}) as Values, maskedFor.family) : value;
    return JSON.stringify(withoutContents(shown), readable, 2);
  } catch {
    // No JSON, or nested too deeply.
    if (maskedFor) return hidden;
    const at = body.search(contents);
    return at === -1 ? body : body.slice(0, at) + hidden;
  }
}
