import pg from 'pg';
import { type Host, parseDatabaseUrl } from '../config/database-url.ts';
import { isReadOnly } from './faults.ts';

/** Advice on an error of a connection, by its code and message. */
const advice: [pattern: RegExp, todo: string][] = [
  [/ALTNAME/, 'its certificate has another host name: use that name, or sslmode=verify-ca with sslrootcert'],
  [/CERT_(HAS_EXPIRED|NOT_YET_VALID)/, 'its certificate is not valid now: renew it, or correct the clock'],
  [/SELF_SIGNED|UNABLE_TO_|CERT_/, 'its certificate is of an unknown authority: name that in sslrootcert'],
  [/does not support SSL/, 'it has no TLS: set ssl=on there, or sslmode=disable where nobody can listen'],
  [/no encryption/, 'it may want TLS: set sslmode=verify-full'],
  [
    /08P01 .*(no such (user|database)|auth\w* failed)/,
    'the pooler does not know the name: check its databases and its auth_file',
  ],
  [/unsupported startup parameter/, 'the pooler refuses it: add it to its ignore_startup_parameters'],
  [/ALERT|valid client cert/, 'it does not accept our certificate: check sslcert and sslkey'],
];

/** The code of the error where a connection was accepted, and nothing was answered. */
export const silent = 'SILENT';

/** The time limit of the question to a server whether it is the primary. */
const timeoutMs = 2_000;

// The primary of each URL with several hosts, while connections to it succeed: one search for all pools of the process.
const primaries = new Map<string, Promise<Host>>();

// Passwords of the roles of the embedded server. While it is down, another user of the machine may listen on its port and ask for them;
// the server itself asks for a proof (SCRAM), which tells nothing.
const secret = new Set<string>();

/** The address of an embedded server: no connection of this process answers its password in clear or as an MD5 hash. */
export function withoutClearPassword(url: string): string {
  secret.add(decodeURIComponent(new URL(url).password));
  return url;
}

const askedInClear =
  'what listens on the port of the embedded PostgreSQL asks for its password in clear: it is another program';

const maxMs = 8.64e15;

/** As of pg, but a time that a Date cannot hold, such as infinity, is the first or the last that one can: pg returns a number, or NaN. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (type: number, format?: 'text' | 'binary') => {
    const parse = pg.types.getTypeParser(type, format as 'text');
    if (type !== pg.types.builtins.TIMESTAMPTZ) return parse;
    return (text: string) => {
      const at: Date | number = parse(text);
      const isDate = at instanceof Date && !Number.isNaN(at.getTime());
      return isDate ? at : new Date(text === '-infinity' ? -maxMs : maxMs);
    };
  },
};

/**
 * A client that understands URLs with several hosts, and says what to do about errors of TLS. With several hosts, the
 * first that accepts writes is used; after a failed connection it is searched again, so that new connections go to a
 * promoted standby.
 *
 * Files of certificates are read for each connection.
 */
export class DatabaseClient extends pg.Client {
  private readonly search: (() => Promise<Host>) | undefined;
  private readonly url: string;
  private readonly fault: Error | undefined;

  constructor({ connectionString: url = '', ...config }: pg.ClientConfig) {
    const { hosts, ...given } = parse(url);
    // An option that the URL lacks must not hide the pool's.
    const address = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    super({ ...config, types, ...address, ...hosts[0] } as pg.ClientConfig);
    // A server that ends, or its administrator, may end a connection at any time, between two statements or right after
    // it was opened. It is the error of the next query; without a listener it would end the process.
    this.on('error', () => {});
    this.failStatementsLeftUncommitted();
    this.refuseToTellSecrets();
    this.url = url;
    this.fault = given.fault;
    this.search = hosts.length > 1 ? () => findPrimary(hosts, { ...config, ...address }) : undefined;
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: (error: Error | null) => void): void;
  override connect(callback?: (error: Error | null) => void): Promise<pg.Client> | undefined {
    const connected = this.open();
    if (!callback) return connected;
    connected.then(() => callback(null), callback);
    return undefined;
  }

  private async open(): Promise<this> {
    if (this.fault) throw this.fault;
    const primary = this.search && (primaries.get(this.url) ?? this.search());
    if (primary) primaries.set(this.url, primary);
    try {
      Object.assign(this, await primary);
      // The pool gave it up during the search.
      if (this.stream.destroyed) throw new Error('timeout expired');
      await super.connect();
      if (primary) await requirePrimary(this);
      return this;
    } catch (error) {
      if (primaries.get(this.url) === primary) primaries.delete(this.url);
      // Before it is ended: a connection that nobody took from the queue of the listener has sent, and received nothing.
      const { bytesWritten, bytesRead } = this.stream;
      void this.end();
      const isSilent = bytesWritten > 0 && bytesRead === 0 && !(error as { code?: string }).code;
      throw isSilent ? Object.assign(error as Error, { code: silent }) : explained(error, this);
    }
  }

  /**
   * A statement outside of a transaction is committed when the server is ready for the next. A pooler may have opened a
   * transaction in front of it, which it leaves open: then nothing is committed, and the statement fails.
   */
  private failStatementsLeftUncommitted(): void {
    const { connection } = this.internals;
    let hasBegun = false;
    connection.on('commandComplete', ({ text }) => {
      if (text === 'BEGIN' || text === 'START TRANSACTION') hasBegun = true;
    });
    // Called before the listener of pg, which completes the statement.
    connection.on('readyForQuery', ({ status }) => {
      if (status === 'I') hasBegun = false;
      const statement = this.internals._getActiveQuery();
      if (status === 'T' && !hasBegun && statement) statement._canceledDueToError = new LeftUncommitted();
    });
  }

  private refuseToTellSecrets(): void {
    for (const handle of ['_handleAuthCleartextPassword', '_handleAuthMD5Password'] as const) {
      const answer = this.internals[handle].bind(this);
      this.internals[handle] = (message) => {
        if (typeof this.password !== 'string' || !secret.has(this.password)) return answer(message);
        this.internals.connection.stream.destroy(new Error(askedInClear));
      };
    }
  }

  private get stream() {
    return this.internals.connection.stream;
  }

  private get internals() {
    return this as unknown as Internals;
  }
}

/** Raised where a connection pooler keeps a transaction open that nobody asked for. */
export class LeftUncommitted extends Error {
  constructor() {
    super('The connection pooler keeps a transaction open: the statement is not committed.');
    this.name = 'LeftUncommitted';
  }
}

/** Members that pg does not document. */
interface Internals {
  connection: {
    stream: {
      destroyed: boolean;
      bytesWritten: number;
      bytesRead: number;
      destroy: (error: Error) => void;
    };
    on(event: 'commandComplete', listener: (message: { text: string }) => void): void;
    on(event: 'readyForQuery', listener: (message: { status: string }) => void): void;
  };
  _handleAuthCleartextPassword: (message: unknown) => void;
  _handleAuthMD5Password: (message: unknown) => void;
  _getActiveQuery: () => { _canceledDueToError?: Error } | null;
}

/** A file that is being replaced fails this connection only. */
function parse(url: string) {
  try {
    return { ...parseDatabaseUrl(url), fault: undefined };
  } catch (error) {
    const fault = new Error(`The URL of PostgreSQL ${(error as Error).message}`);
    return { hosts: [{}] as unknown as [Host, ...Host[]], fault: Object.assign(fault, { code: 'EINVAL' }) };
  }
}

/** @throws Error with the reason for each host; its cause is a standby's error, or else the last one */
async function findPrimary(hosts: Host[], config: pg.ClientConfig): Promise<Host> {
  const errors: unknown[] = [];
  for (const host of hosts) {
    const client = new pg.Client({ ...config, ...host } as pg.ClientConfig);
    client.on('error', () => {}); // raised by connect
    try {
      await client.connect();
      await requirePrimary(client);
      return host;
    } catch (error) {
      errors.push(explained(error, client));
    } finally {
      void client.end(); // a server that does not respond would delay the search
    }
  }
  const reasons = errors.map((error) => (error as Error).message).join('; ');
  const cause = errors.find(isReadOnly) ?? errors.at(-1);
  throw new Error(`no server accepts writes: ${reasons}`, { cause });
}

/** @throws DatabaseError as of a write, where the server accepts none */
async function requirePrimary(client: pg.Client): Promise<void> {
  const query = { text: 'show transaction_read_only', query_timeout: timeoutMs };
  const { rows } = await client.query<{ transaction_read_only: string }>(query);
  if (rows[0]!.transaction_read_only === 'off') return;
  const error = new pg.DatabaseError('it is a standby, or set read-only', 0, 'error');
  throw Object.assign(error, { code: '25006' });
}

function explained(error: unknown, { host, port }: pg.Client): unknown {
  const { code = '', message } = error as { code?: string; message: string };
  const todo = advice.find(([pattern]) => pattern.test(`${code} ${message}`))?.[1];
  return todo ? new Error(`PostgreSQL at ${host}:${port}: ${todo}`, { cause: error }) : error;
}
