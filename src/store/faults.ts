import pg from 'pg';

/**
 * What an error of PostgreSQL is about: a server that is unavailable for now; a server, session or schema that is
 * unusable until somebody changes it; or the data.
 */
type Fault = 'unavailable' | 'unusable' | 'data';

/** By class of SQLSTATE. */
const faults: Record<string, Fault> = {
  '08': 'unavailable', // connection
  '53': 'unavailable', // memory, disk, connections
  '57': 'unavailable', // shutdown, start-up, timeout
  '25': 'unusable', // state of the transaction: read-only, ended by a timeout
  '26': 'unusable', // unknown prepared statement
  '28': 'unusable', // name or password
  '3D': 'unusable', // no such database
  '3F': 'unusable', // no such schema
  '40': 'unusable', // deadlock, serialization
  '42': 'unusable', // no such table or column, missing permission
  '55': 'unusable', // locked, in use
  '58': 'unusable', // files
  F0: 'unusable', // the server's configuration
  '22': 'data', // exceptions
  '23': 'data', // constraints
  '54': 'data', // program limits: too deep, too large
};

// Errors of the system, of TLS and of the driver. The driver's own errors have no code.
const unavailableCode = /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN)$/;
const unavailableMessage = /^(timeout e|Query read timeout|Connection terminated)/;
const unusableCode = /^(E[A-Z]+|ERR_(TLS|SSL)_\w+|\w*CERT\w*|UNABLE_TO_\w+)$/;
const unusableMessage =
  /^(Client (was closed|has encountered)|Cannot use a pool|The server does not support SSL|There was an error establishing an SSL)/;

// PgBouncer gives all its errors the code of a protocol violation, also those that last.
const refusedByPooler =
  /^(no such (user|database)|unsupported startup parameter|SSL required|bouncer config error)|auth\w* failed/;

function classify(error: unknown): Fault | undefined {
  if (error instanceof pg.DatabaseError) {
    const isRefused = error.code === '08P01' && refusedByPooler.test(error.message);
    return isRefused ? 'unusable' : faults[error.code?.slice(0, 2) ?? ''];
  }
  if (typeof error !== 'object' || error === null) return undefined;
  const { code = '', message = '', cause } = error as { code?: string; message?: string; cause?: unknown };
  if (unavailableCode.test(code) || unavailableMessage.test(message)) return 'unavailable';
  if (unusableCode.test(code) || unusableMessage.test(message)) return 'unusable';
  return classify(cause);
}

/**
 * Whether PostgreSQL is unavailable for now: it can be reached with this address, name and password once it runs.
 *
 * @param error of a query, or an error with that as its cause
 */
export function isUnavailable(error: unknown): boolean {
  return classify(error) === 'unavailable';
}

/**
 * Whether PostgreSQL cannot do this work for any delivery: it is unavailable, read-only, full or locked, or lacks a
 * table or a permission. The work is retried later.
 *
 * Every other error may be caused by one delivery: the others of its batch are stored or applied without it.
 *
 * @param error of a query, or an error with that as its cause
 */
export function isOutage(error: unknown): boolean {
  const fault = classify(error);
  return fault === 'unavailable' || fault === 'unusable';
}

/** Whether PostgreSQL refused the data itself, so that a retry cannot succeed. */
export function isRefusedData(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && classify(error) === 'data';
}

/** Whether PostgreSQL accepts no writes: it is a standby, or set read-only. */
export function isReadOnly(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: string; cause?: unknown };
  return code === '25006' || (cause !== undefined && isReadOnly(cause));
}

/** Why PostgreSQL refused the data, without the values in its message: they may be a patient's. */
export function describeRefusal(error: pg.DatabaseError): string {
  const place = [error.table, error.column, error.constraint].filter(Boolean).join('.');
  const message = error.message.replace(/"[^"]*"/g, '"…"');
  return `${error.code} ${message}${place ? ` (${place})` : ''}`;
}
