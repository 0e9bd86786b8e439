/**
 * The one way to write a JSON value (RFC 8785): keys sorted by UTF-16 code units, no white space, numbers
 * and strings as JSON.stringify writes them.
 *
 * @param value a value that JSON.parse returned
 */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const object = value as Record<string, unknown>;
  let text = '';
  for (const key of Object.keys(object).sort()) {
    text += `${text === '' ? '{' : ','}${JSON.stringify(key)}:${canonicalJson(object[key])}`;
  }
  return text === '' ? '{}' : `${text}}`;
}
