import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { decode } from './texts.ts';

/** A server's address; what is undefined is as the driver has it: `PGHOST`, or localhost; `PGPORT`, or 5432. */
export interface Host {
  host: string | undefined;
  port: number | undefined;
}

type TlsFiles = Pick<ConnectionOptions, 'ca' | 'cert' | 'key'>;

/** Values of `sslmode`. Unlike libpq, `require` verifies the certificate here. */
const tlsModes: Record<string, (files: TlsFiles) => ConnectionOptions | false> = {
  disable: () => false,
  'no-verify': (files) => ({ ...files, rejectUnauthorized: false }),
  'verify-ca': (files) => {
    // A public authority signs anybody's certificate.
    if (!files.ca) throw new Error('must have sslrootcert with sslmode=verify-ca');
    return { ...files, checkServerIdentity: () => undefined };
  },
  'verify-full': (files) => files,
  require: (files) => files,
};

/** Values of `ssl`, as other drivers write it, and the `sslmode` that each stands for. */
const otherNames: Record<string, string> = {
  true: 'verify-full',
  1: 'verify-full',
  'no-verify': 'no-verify',
  false: 'disable',
  0: 'disable',
};

const tlsParameters = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'ssl', 'uselibpqcompat'];

/** Without effect: the receiver has its own timeouts, and checks the certificate. */
const ignored = ['connect_timeout', 'channel_binding', 'gssencmode'];

const known = [...tlsParameters, ...ignored, 'host', 'port', 'application_name', 'target_session_attrs'];

const schema = 'the name of a schema goes into DATABASE_SCHEMA';

/** What to do instead of what is often in such URLs. */
const instead: Record<string, string> = {
  options: `the receiver makes its own settings, and connection poolers take none at the start; ${schema}`,
  schema,
  currentSchema: schema,
  search_path: schema,
};

/**
 * Parses a URL of PostgreSQL, with one host or several, and reads the files that it names.
 *
 * @returns hosts in the order in which they are tried; what is undefined is as the driver has it
 * @throws Error whose message follows the name of the variable, such as `must not have …`
 */
export function parseDatabaseUrl(url: string) {
  const parts = /^postgres(?:ql)?:\/\/(?:([^@/]*)@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/s.exec(url);
  if (!parts) throw new Error('must be a URL such as postgresql://user:password@host:5432/database');
  const [, credentials = '', authority = '', database = '', query = ''] = parts;
  const parameters = Object.fromEntries(new URLSearchParams(query));
  for (const name of Object.keys(parameters).filter((given) => !known.includes(given))) {
    const reason = instead[name] ?? `known are ${known.join(', ')}`;
    throw new Error(`must not have the parameter ${name}: ${reason}`);
  }
  const { target_session_attrs = 'read-write' } = parameters;
  if (!['read-write', 'primary'].includes(target_session_attrs)) {
    throw new Error('must have target_session_attrs=read-write or none: the receiver writes');
  }
  const [user, password] = credentials.split(/:(.*)/s, 2);
  const hosts = (parameters.host ?? authority).split(',').map((text) => parseHost(text, parameters.port));
  return {
    hosts: hosts as [Host, ...Host[]],
    user: decode(user ?? '') || undefined,
    password: decode(password ?? '') || undefined,
    database: decode(database) || undefined,
    ssl: hosts[0]!.host?.startsWith('/') ? false : parseTls(parameters),
    application_name: parameters.application_name,
  };
}

function parseHost(text: string, otherPort = ''): Host {
  const [, address, bracketed, port = otherPort] =
    /^((?:\[([\da-f:.]+)\])|[^[\]:@]*)(?::(\d{1,5}))?$/i.exec(decode(text)) ?? [];
  if (address === undefined || Number(port) > 65_535) {
    // Not the text: an unencoded / or @ in the password makes its beginning look like a host.
    throw new Error(
      'must have hosts such as db.example or [2001:db8::1]:5432, and percent-encode special characters of the password',
    );
  }
  return { host: bracketed ?? (address || undefined), port: Number(port) || undefined };
}

function parseTls(parameters: Record<string, string>): ConnectionOptions | false | undefined {
  const { sslmode, ssl, uselibpqcompat } = parameters;
  if (!tlsParameters.some((name) => parameters[name])) return undefined;
  const files = readFiles(parameters);
  const named = sslmode ?? (ssl === undefined ? 'verify-full' : otherNames[ssl]);
  const asLibpq = files.ca ? 'verify-ca' : 'no-verify';
  const mode = uselibpqcompat === 'true' && named === 'require' ? asLibpq : named;
  const tls = Object.hasOwn(tlsModes, mode ?? '') ? tlsModes[mode!] : undefined;
  if (!tls) throw new Error(`must have one of sslmode=${Object.keys(tlsModes).join(', ')}`);
  return tls(files);
}

/** `sslrootcert=system`: the authorities of Node. */
function readFiles({ sslrootcert, sslcert, sslkey }: Record<string, string>): TlsFiles {
  if (!sslcert !== !sslkey) throw new Error('must have both sslcert and sslkey, or none of them');
  const ca = sslrootcert === 'system' ? undefined : read('sslrootcert', sslrootcert, isCertificate);
  const cert = read('sslcert', sslcert, isCertificate);
  const key = read('sslkey', sslkey, (text) => text.includes('PRIVATE KEY'));
  return { ...(ca && { ca }), ...(cert && { cert, key }) };
}

function read(name: string, path: string | undefined, isRight: (text: string) => boolean) {
  if (!path) return undefined;
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`has ${name}=${path}, which cannot be read: ${(error as Error).message}`);
  }
  // Node ignores what it cannot read of an authority's file.
  if (!isRight(text)) throw new Error(`has ${name}=${path}, which is no such file in PEM format`);
  return text;
}

function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).subject !== undefined;
  } catch {
    return false;
  }
}
