const longestBody = 500;
const longestText = 4000;

/**
 * An answer's body as text that may go into an error: cut to 500 characters, without any string of the
 * request (token, OTP, names, addresses), any JWT, and any number of six digits or more, however spaced:
 * a service that echoes or masks badly must not put an Aadhaar-linked number into a log.
 */
export function conceal(body: string, secrets: Iterable<string>): string {
  let text = withoutEscapes(body);
  // Longest first: a short secret inside a longer one would leave the longer one's rest standing.
  const known = [...new Set(secrets)].filter((s) => s.length > 0).sort((a, b) => b.length - a.length);
  for (const secret of known) {
    for (const form of new Set([secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])) {
      text = text.replaceAll(form, '[hidden]');
    }
  }
  const whole = text.length <= longestText;
  text = text
    // The patterns below take quadratic time on a long run of one kind, so they see a bounded text only.
    .slice(0, longestText)
    .replace(/eyJ[\w-]+(?:\.[\w-]*)*/g, '[hidden]')
    .replace(/\d(?:[\s.()-]{0,2}\d){5,}/g, '[number]')
    .replace(/[^\s"@:,<>]+@[^\s"@:,<>]+/g, '[address]');
  // The bound may have cut a number into a piece too short to be recognised.
  if (!whole) text = text.replace(/[\d\s.()-]+$/, '');
  return text.length > longestBody ? `${text.slice(0, longestBody)}…` : text;
}

/** What conceal() has to hide of a request; texts of one or two letters (a gender) identify nobody. */
export function secretsOf(value: unknown): string[] {
  if (typeof value === 'number') return secretsOf(String(value)).filter((digits) => digits.length > 2);
  if (typeof value === 'string') return value.length > 2 || /^\d+$/.test(value) ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(secretsOf);
}

// JSON may write a character as \uXXXX; parsing and writing it again leaves one spelling to look for.
function withoutEscapes(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body));
  } catch {
    return body;
  }
}
