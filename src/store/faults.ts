import pg from 'pg';
import { redactMessage } from '../common/log.ts';

/**
 * The subject of an error of PostgreSQL: a server that is unavailable for now; a connection, a session or locks that are
 * unusable; or data that it may refuse. Every other error may be the store's fault or that of one delivery, in any
 * language: only a probe can tell.
 */
type Fault = 'unavailable' | 'unusable' | 'refusal';

// They depend on the other rows, or on those of another table: the same data may be stored at another time.
const ofOtherRows = new Set(['23503', '23505', '23P01']);

/** By class of SQLSTATE; a class that is missing here says nothing about whose fault it is. */
const faults: Record<string, Fault> = {
  '08': 'unavailable', // connection
  '53': 'unavailable', // memory, disk, connections
  '57': 'unavailable', // shutdown, start-up, timeout
  '25': 'unusable', // state of the transaction: read-only, ended by a timeout
  '26': 'unusable', // unknown prepared statement
  '28': 'unusable', // name or password
  '3D': 'unusable', // no such database
  '40': 'unusable', // deadlock, serialization
  '55': 'unusable', // locked, in use
  F0: 'unusable', // the server's configuration
  '22': 'refusal', // exceptions
  '23': 'refusal', // constraints
  '54': 'refusal', // program limits: too deep, too large; also of a server that accepts no commands
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
 * Whether PostgreSQL certainly cannot do this work for any delivery now: it is unavailable, read-only, full or locked.
 * The work is retried later.
 *
 * Every other error may be the store's fault or that of one delivery; a probe decides, see `Circuit.run`.
 *
 * @param error of a query, or an error with that as its cause
 */
export function isOutage(error: unknown): boolean {
  const fault = classify(error);
  return fault === 'unavailable' || fault === 'unusable';
}

/**
 * Whether an error can mean that PostgreSQL refuses the data itself. It does if a known-good delivery is accepted: after a
 * DBA's new constraint, or in a server that accepts no commands, every delivery has such an error.
 */
export function isRefusal(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && classify(error) === 'refusal';
}

/** Whether the refusal depends on other rows, as with a unique index. In inbox we have no such constraint: a DBA added it. */
export function isConflict(error: pg.DatabaseError): boolean {
  return ofOtherRows.has(error.code ?? '');
}

/** Whether an error, or a cause of it, has this code. */
export function hasCode(error: unknown, wanted: string): boolean {
  const { code, cause } = (error ?? {}) as { code?: string; cause?: unknown };
  return code === wanted || (cause !== undefined && hasCode(cause, wanted));
}

/** Whether PostgreSQL accepts no writes: it is a standby, or set read-only. */
export const isReadOnly = (error: unknown) => hasCode(error, '25006');

/** Whether a statement waited for a lock for too long. */
export const isLockTimeout = (error: unknown) => hasCode(error, '55P03');

/** Whether locks of others ended a transaction: it waited for one for too long, or was the victim of a deadlock. */
export const isLocked = (error: unknown) => isLockTimeout(error) || hasCode(error, '40P01');

const inFile = /\b(?:base|pg_tblspc)\/\d+\//;

/**
 * Whether PostgreSQL cannot read a page of a table or an index: its checksum or content is wrong, or its file is short,
 * missing or unreadable. That concerns what is on the page, and no other row.
 */
export function isDamaged(error: unknown): boolean {
  for (let one = error as Partial<pg.DatabaseError> | undefined; one; one = one.cause as typeof one) {
    const { code = '', message = '', routine } = one;
    // A trigger may raise any code.
    if (code === 'XX001' || code === 'XX002') return routine !== 'exec_stmt_raise';
    if (code === '58030' || code === '58P01') return inFile.test(message);
  }
  return false;
}

/** Why PostgreSQL refused a delivery, without the values in its message: they may be a patient's. */
export function describeRefusal(error: unknown): string {
  if (!(error instanceof pg.DatabaseError)) return error instanceof Error ? error.name : 'unknown';
  const place = [error.table, error.column, error.constraint].filter(Boolean).join('.');
  return `${error.code} ${redactMessage(error.message, error.code)}${place ? ` (${place})` : ''}`;
}
