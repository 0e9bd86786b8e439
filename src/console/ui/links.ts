export { titled, words } from '../../common/words.ts';

type Query = Readonly<Record<string, string | undefined>>;

/** The address of a page of the console. Undefined and empty fields are left out. */
export function hrefTo(path: string, fields: Query = {}): string {
  const given = Object.entries(fields).flatMap(([name, value]) => (value ? [[name, value]] : []));
  return `/console${path}${given.length > 0 ? `?${new URLSearchParams(given)}` : ''}`;
}

/** The page of a receipt, a consent form, and so on; `id`: of the delivery where the family has no key. */
export const recordHref = (family: string, business: string, id: string) =>
  hrefTo(`/records/${family}`, { business, id });
