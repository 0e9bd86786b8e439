import { z } from 'zod';
import { decode, fail, partsOf } from './value-types.ts';

/** So that a password may contain characters such as @ or /: it ends at the last @ before the query. */
const encodeCredentials = (address: string) =>
  address.replace(/(?<=^[a-z+]+:\/\/)[^?]*(?=@[^@?]*(\?|$))/, (credentials) =>
    credentials
      .split(/:(.*)/s, 2)
      .map((part) => encodeURIComponent(decode(part)))
      .join(':'),
  );

const url = (example: string, pattern: RegExp, isValid: (address: string) => boolean = URL.canParse) =>
  z
    .string()
    .transform(encodeCredentials)
    .refine(
      (address) => pattern.test(address) && isValid(address),
      `must be a URL of one host such as ${example}; encode in a password: % as %25, / as %2F, ? as %3F, # as %23`,
    );

export const database = url(
  'postgresql://user:password@host:5432/database',
  /^postgres(ql)?:\/\/./,
  // The host may be the folder of a socket, in the query.
  (address) => URL.canParse(address.replace(/@(?=\/[^?]*\?(.*&)?host=(\/|%2F))/i, '@socket')),
);

export const redis = url('redis://:password@host:6379/0', /^rediss?:\/\/([^/?#]*@)?[^\s/?#@,]+(\/\d*)?$/);

export const path = z
  .string()
  .regex(/^\/[\w\-.~/]*$/, 'must start with / and contain only letters, digits and - . _ ~ /')
  .refine((text) => !reserved.includes(text), 'is a path that the receiver uses itself');

export const paths = z.string().transform(partsOf).pipe(z.array(path).min(1, 'must have a path'));

const reserved = ['/', '/healthz', '/readyz', '/metrics', '/console', '/changes'];

export const issuer = z
  .string()
  .refine(
    (address) =>
      /^https:\/\/./.test(address) || /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(\/|$)/.test(address),
    'must be an https address such as https://accounts.example.org',
  )
  .refine(URL.canParse, 'must be a URL');

export const webhook = z.url({
  protocol: /^https?$/,
  error: 'must be a URL such as https://hooks.slack.com/services/…',
});

/** Scheme, host and port. */
export const publicUrl = z.string().transform((address, context) => {
  const url = /^https?:\/\/./.test(address) && URL.canParse(address) ? new URL(address) : undefined;
  if (url && url.href === `${url.origin}/`) return url.origin;
  const isBelow = url && (url.pathname !== '/' || url.search !== '' || url.hash !== '');
  const rule = isBelow ? 'have no path: the receiver needs its own host name' : 'be a URL without a user';
  return fail(context, `must ${rule}, such as https://receiver.example.org`);
});

export const mailServer = url('smtp://user:password@host:587', /^smtps?:\/\/./);

export const network = z
  .union(
    [z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()],
    'must be addresses or CIDRs, comma-separated, such as 192.0.2.0/24',
  )
  .refine((range) => !/\/0+$/.test(range), 'must not have the range of all addresses: it checks nothing');

export const email = z.email('must be an e-mail address such as alerts@example.org');
