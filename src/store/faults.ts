import pg from 'pg';

// Classes of SQLSTATE that speak of the data: exceptions, constraints, program limits (too deep, too large).
const ofTheData = new Set(['22', '23', '54']);

/** Whether PostgreSQL refused the data itself, so that trying again cannot help. */
export function isRefusedData(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && ofTheData.has(error.code?.slice(0, 2) ?? '');
}

const gone = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
]);
// Connections, resources, and the server's coming and going.
const ofTheServer = new Set(['08', '53', '57']);

/** Whether PostgreSQL is away for now, rather than not to be reached with this address, name or password. */
export function isAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error.cause) return isAway(error.cause);
  const { code = '' } = error as { code?: string };
  if (error instanceof pg.DatabaseError) return ofTheServer.has(code.slice(0, 2));
  // What pg itself says of a connection that broke or was late has no code.
  return (
    gone.has(code) ||
    /^(timeout expired|timeout exceeded|Query read timeout|Connection terminated)/.test(error.message)
  );
}

// Classes of SQLSTATE that speak of the server, the session or the tables, never of a value.
const ofTheSystem = new Set([
  '08', // connection
  '25', // state of the transaction: read-only, ended by a time limit
  '26', // a prepared statement that the server does not know
  '28', // name or password
  '3D', // no such database
  '3F', // no such schema
  '40', // deadlock, serialization
  '42', // no such table or column, missing right
  '53', // memory, disk, connections
  '55', // locked, in use
  '57', // shutdown, start-up, time limit
  '58', // files
  'F0', // its configuration
]);
// What the system, TLS and pg say of a connection. pg's own errors have no code.
const connectionCode = /^(E[A-Z]+|ERR_(TLS|SSL)_\w+|\w*CERT\w*|UNABLE_TO_\w+)$/;
const connectionMessage =
  /^(timeout e|Query read timeout|Connection terminated|Client (was closed|has encountered)|Cannot use a pool|The server does not support SSL|There was an error establishing an SSL)/;

/**
 * Whether an error says that PostgreSQL, as it stands, cannot do this work for any delivery: it cannot be
 * reached, is late, read-only, full or locked, or lacks a table or a right. It is tried again later.
 *
 * Every other error may be the fault of one delivery: its neighbours are to be stored or applied without it.
 *
 * @param error what a query threw, or an error with that as its cause
 */
export function isOutage(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return ofTheSystem.has(error.code?.slice(0, 2) ?? '');
  if (typeof error !== 'object' || error === null) return false;
  const { code = '', message = '', cause } = error as { code?: string; message?: string; cause?: unknown };
  return connectionCode.test(code) || connectionMessage.test(message) || isOutage(cause);
}

/** Whether PostgreSQL takes no writes: it is a standby, or was set read-only. */
export function isReadOnly(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: string; cause?: unknown };
  return code === '25006' || (cause !== undefined && isReadOnly(cause));
}

/** Why PostgreSQL refused it, without the values that its message quotes: they may be a patient's. */
export function describeRefusal(error: pg.DatabaseError): string {
  const place = [error.table, error.column, error.constraint].filter(Boolean).join('.');
  const message = error.message.replace(/"[^"]*"/g, '"…"');
  return `${error.code} ${message}${place ? ` (${place})` : ''}`;
}
