import { type Family, families } from '../../families/index.ts';

/** A name of the database in words. */
export const words = (name: string): string => name.replaceAll('_', ' ');

/** The same, at the beginning of a line. */
export const titled = (name: string): string => name[0]!.toUpperCase() + words(name).slice(1);

type Query = Readonly<Record<string, string | undefined>>;

/** A path with a query. Undefined and empty fields are left out. */
export function withQuery(path: string, fields: Query = {}): string {
  const given = Object.entries(fields).flatMap(([name, value]) => (value ? [[name, value]] : []));
  return given.length > 0 ? `${path}?${new URLSearchParams(given)}` : path;
}

/** The address of a page of the console. */
export const hrefTo = (path: string, fields?: Query) => withQuery(`/console${path}`, fields);

/** The page of a receipt, a consent form, and so on; `id`: of the delivery where the family has no key. */
export const recordHref = (family: string, business: string, id: string) =>
  hrefTo(`/records/${family}`, { business, id });

const identified = (families as readonly Family[]).filter(({ identifiedBy }) => identifiedBy);

/** Columns of tables and views that hold the id of a record, such as receipt_id, and the family of that. */
const recordColumns: Record<string, string> = {
  ...Object.fromEntries(identified.map(({ name }) => [`${name}_id`, name])),
  form_id: 'consent_form',
  aid: 'appointment',
};

/** The page of the record that a column of a row names; undefined: it names none. */
export function recordHrefOf(
  column: string,
  row: Readonly<Record<string, string | null>>,
): string | undefined {
  const [family, id, business] = [recordColumns[column], row[column], row.business_id];
  return family && id && business != null ? recordHref(family, business, id) : undefined;
}
