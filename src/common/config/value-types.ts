import bytes from 'bytes';
import { z } from 'zod';
import { dayMs } from '../days.ts';

/** The roles of the console: see console/roles.ts for what each includes. */
export const roles = ['viewer', 'desk', 'operator', 'privacy'] as const;
export type Role = (typeof roles)[number];

/** Percent-encoding; a % that encodes nothing stays as it is. */
export function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The parts of a list: a comma, or a line end in a file, is between them. */
export const partsOf = (text: string) =>
  text
    .split(/[,\n]/)
    .map((part) => part.trim())
    .filter(Boolean);

/** Reports what is wrong with a variable, as the rest of a sentence. */
export function fail(context: z.RefinementCtx, message: string): never {
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
}

// An empty list would switch a check off.
export const list = z
  .string()
  .regex(/[^\s,]/, 'must have a value between its commas')
  .transform(partsOf)
  .default([]);

export const flag = z
  .enum(['true', 'false', '1', '0'], 'must be true or false')
  .default('false')
  .transform((text) => text === 'true' || text === '1');

export const secret = z.string().superRefine((text, context) => {
  const message = weaknessOf(text);
  if (message) fail(context, message);
});

export const secrets = list.pipe(z.array(secret));

/** Tokens, some of which are bound to what is public. No message contains one. */
export const changesTokens = list
  .transform((parts) =>
    parts.map((part) => ({ token: part.replace(/^public:/, ''), isPublic: part.startsWith('public:') })),
  )
  .pipe(z.array(z.object({ token: secret, isPublic: z.boolean() })));

export function integer(min: number, max: number) {
  const message = `must be a whole number from ${min} to ${max}`;
  return z.coerce.number(message).int(message).min(min, message).max(max, message);
}

export const bodySize = z
  .string()
  .default('256kb')
  .transform((text, context) => {
    const size = /^[\d.]+ *([km]?b)?$/i.test(text) ? bytes.parse(text) : null;
    if (size && size >= 1024 && size <= 64 * 1024 * 1024) return size;
    return fail(context, 'must be a size from 1kb to 64mb, such as 256kb');
  });

function isZone(name: string): boolean {
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone: name }));
  } catch {
    return false;
  }
}

// Node and PostgreSQL disagree about abbreviations and offsets: IST is India in Node and Israel in PostgreSQL, where
// +05:30 is west of Greenwich. Names with a slash, and UTC, mean the same in both.
export const timezone = z
  .string()
  .refine(
    (name) => (name.includes('/') || name === 'UTC') && isZone(name),
    'must be a full name of the IANA time zone database, such as Asia/Kolkata, or UTC',
  );

// What is after a role's = may contain further ones. No message contains a value: it may be somebody's address.
export const rolesMap = z.string().transform((text, context) => {
  const entries = partsOf(text).map((part) => {
    const [, role, value] = /^(\w+)\s*=\s*(.+)$/.exec(part) ?? [];
    return { role: roles.find((name) => name === role), value: decode(value ?? '') };
  });
  if (entries.length > 0 && entries.every(({ role, value }) => role && value !== '' && value !== '@')) {
    return entries as { role: Role; value: string }[];
  }
  return fail(
    context,
    `must be role=value, comma-separated, with the roles ${roles.join(', ')}; a value is one of the claims roles and groups, ` +
      'an e-mail address or @domain; encode , in a value as %2C, % as %25',
  );
});

const unitDays: Record<string, number> = { d: 1, y: 365.25 };

function durationMs(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,5})([dy])$/.exec(text) ?? [];
  return unit ? Number(count) * unitDays[unit]! * dayMs : undefined;
}

/** In milliseconds. */
export const keep = z
  .string()
  .default('0')
  .transform((text, context) => {
    const ms = text === '0' ? 0 : durationMs(text);
    return ms ?? fail(context, 'must be a duration such as 365d or 3y, or 0');
  });

export const days = z.string().transform((text, context) => {
  const count = Number(/^(\d{1,3})d$/.exec(text)?.[1]);
  if (count >= 1 && count <= 366) return count;
  return fail(context, 'must be a number of days from 1d to 366d, such as 7d');
});

/** In milliseconds. */
export const retention = (families: readonly string[]) =>
  z
    .string()
    .default('quarantine=90d')
    .transform((text, context) => {
      const names = [...families, 'quarantine', 'access_log'];
      const kept: Record<string, number> = {};
      for (const part of partsOf(text)) {
        const [name = '', duration = ''] = part.split('=').map((side) => side.trim());
        const ms = durationMs(duration);
        if (!names.includes(name)) fail(context, `has no ${name || part}: it may name ${names.join(', ')}`);
        else if (Object.hasOwn(kept, name)) fail(context, `must name ${name} once`);
        else if (!ms) fail(context, `must give ${name} a duration such as 180d or 8y`);
        else if (name === 'access_log' && ms < durationMs('1y')!)
          fail(context, 'must keep access_log for at least 1y');
        else kept[name] = ms;
      }
      return kept;
    });

const minSecretLength = 16;
/** Different pairs of neighbours. One random text of 16 decimal digits in thirty thousand has fewer, none of hex digits. */
const minPairs = 9;

const pairsOf = (text: string) =>
  new Set([...text].slice(1).map((character, at) => text[at] + character)).size;

/** Why a secret can be guessed, as the rest of a sentence; undefined: it is neither short nor a repetition. */
export function weaknessOf(secret: string): string | undefined {
  if (secret.length < minSecretLength) return `must have at least ${minSecretLength} characters`;
  if (pairsOf(secret) >= minPairs) return undefined;
  return 'must not repeat a few characters: use the output of `openssl rand -hex 32`';
}

const isToken = (segment: string) => /^[\w.~-]{22,}$/.test(segment) && pairsOf(segment) >= minPairs;

export const isUnguessable = (path: string): boolean => path.split('/').some(isToken);
