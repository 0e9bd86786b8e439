import bytes from 'bytes';
import { z } from 'zod';
import { roles } from './roles.ts';
import { decode, fail, partsOf } from './texts.ts';
import { weaknessOf } from './unguessable.ts';

// An empty list would switch a check off.
export const list = z
  .string()
  .regex(/[^\s,]/, 'must have a value between its commas')
  .transform(partsOf)
  .default([]);

export const flag = (byDefault: 'true' | 'false') =>
  z
    .enum(['true', 'false', '1', '0'], 'must be true or false')
    .default(byDefault)
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

export const integer = (min: number, max: number) =>
  z.coerce
    .number(`must be a whole number from ${min} to ${max}`)
    .int(`must be a whole number from ${min} to ${max}`)
    .min(min, `must be at least ${min}`)
    .max(max, `must be at most ${max}`);

export const size = (least: string, most: string, byDefault: string) =>
  z
    .string()
    .default(byDefault)
    .transform((text, context) => {
      const parsed = /^[\d.]+ *([km]?b)?$/i.test(text) ? bytes.parse(text) : null;
      if (parsed !== null && parsed >= bytes.parse(least)! && parsed <= bytes.parse(most)!) return parsed;
      return fail(context, `must be a size from ${least} to ${most}, such as ${byDefault}`);
    });

// The canonical name in Node's time zone database.
function nameOfZone(name: string): string | undefined {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined; // no such zone
  }
}

// Node and PostgreSQL disagree about abbreviations and offsets: IST is India in Node and Israel in PostgreSQL, where
// +05:30 is west of Greenwich. Names with a slash, and UTC, mean the same in both.
export const timezone = z.string().superRefine((name, context) => {
  const known = nameOfZone(name);
  if (known && (name.includes('/') || name === 'UTC')) return;
  const meant = known?.replace('Asia/Calcutta', 'Asia/Kolkata');
  const advice = meant?.includes('/')
    ? `: use ${meant} if ${name} means that`
    : ', such as Asia/Kolkata, or UTC';
  fail(context, `must be a full name of the IANA time zone database${advice}`);
});

// What is after a role's = may contain further ones. No message contains a value: it may be somebody's address.
export const rolesMap = z.string().transform((text, context) => {
  const entries = partsOf(text).map((part) => {
    const [, role, value] = /^(\w+)\s*=\s*(.+)$/.exec(part) ?? [];
    return { role: roles.find((name) => name === role), value: decode(value ?? '') };
  });
  if (entries.length > 0 && entries.every(({ role, value }) => role && value !== '' && value !== '@')) {
    return entries as { role: (typeof roles)[number]; value: string }[];
  }
  return fail(
    context,
    `must be role=value, comma-separated, with the roles ${roles.join(', ')}; a value is one of the claims roles and groups, ` +
      'an e-mail address or @domain; encode , in a value as %2C, % as %25',
  );
});
