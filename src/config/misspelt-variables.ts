import { type FamilyPaths, variableGroups } from './environment-schema.ts';

// Variables of Node, npm, PostgreSQL's and OpenTelemetry's libraries, the system, and platforms that run containers.
const foreign =
  /^((NODE|NPM|npm|OTEL|LC|XDG|SSH|SYSTEMD|KUBERNETES|DOCKER|COMPOSE|GITHUB|RUNNER|HEROKU|RENDER|FLY|RAILWAY|AWS|AZURE)_|PG[A-Z])/;

// Kubernetes and Docker tell each container the addresses of the services beside it.
const serviceLink = /_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_\w+)?$/;
const linkedAddress = /^(tcp|udp|sctp):\/\//;

// Common names of other programs that are two letters away from one of ours.
const common = ['SITE_URL', 'HTTP_URL', 'DATABASE_SSL', 'REDIS_SSL', 'SMTP_SSL'];

/** Nobody else's variables begin like these. */
const ourPrefixes = /^(OIDC|ALERT|SIGNING|SIGNATURE|ALLOWED|ERASURE)_/i;

const fewestLetters = 8;

/**
 * The variables that are none of ours, but spelt nearly like one.
 *
 * @returns `errors`: names that differ by an S at the end or the beginning of a part, or by two edits where both have at
 *   least eight letters; `doubts`: others, also those whose right name is set as well. `reason` is said after the name
 */
export function misspeltIn(
  env: Readonly<Record<string, string | undefined>>,
  families: readonly FamilyPaths[],
) {
  const known = variableGroups(families).flatMap(({ variables }) => Object.keys(variables));
  const errors: { name: string; meant: string; reason: string }[] = [];
  const doubts: { name: string; reason: string }[] = [];
  for (const [name, value] of Object.entries(env)) {
    if (!value || known.includes(name) || foreign.test(name) || common.includes(name)) continue;
    if (serviceLink.test(name) || linkedAddress.test(value)) continue;
    const [first] = known
      .map((meant) => ({ meant, edits: editsBetween(name, meant) }))
      .toSorted((a, b) => a.edits - b.edits);
    const { meant, edits } = first!;
    const isShort = Math.min(name.length, meant.length) < fewestLetters;
    const plural = known.find((one) => withoutS(one) === withoutS(name));
    const near = plural ?? (edits <= (isShort ? 1 : 2) ? meant : undefined);
    const isSure = plural !== undefined || !isShort;
    const didYouMean = (one: string) => `is no variable of the receiver: did you mean ${one}?`;
    const sameLetters = known.find((one) => one === name.toUpperCase());
    if (near && isSure && !env[near]) errors.push({ name, meant: near, reason: didYouMean(near) });
    else if (near ?? sameLetters) doubts.push({ name, reason: didYouMean((near ?? sameLetters)!) });
    else if (ourPrefixes.test(name)) doubts.push({ name, reason: 'is no variable of the receiver' });
  }
  return { errors, doubts };
}

const withoutS = (name: string) => name.replace(/(?<=^|_)S(?=[^_])|(?<=[^_])S(?=$|_)/g, '');

/** How many letters to insert, delete, replace or swap with the next one (Damerau and Levenshtein). */
function editsBetween(a: string, b: string): number {
  const edits = Array.from({ length: a.length + 1 }, (_, i) => [i]);
  for (let j = 1; j <= b.length; j += 1) edits[0]![j] = j;
  for (let i = 1; i <= a.length; i += 1) {
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1];
      const [above, row] = [edits[i - 1]!, edits[i]!];
      row[j] = Math.min(above[j]! + 1, row[j - 1]! + 1, above[j - 1]! + (isSame ? 0 : 1));
      if (i === 1 || j === 1) continue;
      // The last places of each letter in the other name: between the two, letters may be inserted or deleted.
      const [k, l] = [a.lastIndexOf(b[j - 1]!, i - 2), b.lastIndexOf(a[i - 1]!, j - 2)];
      if (k >= 0 && l >= 0) row[j] = Math.min(row[j]!, edits[k]![l]! + (i - k - 2) + 1 + (j - l - 2));
    }
  }
  return edits[a.length]![b.length]!;
}
