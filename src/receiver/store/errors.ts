import pg from 'pg';
import { messageOf } from '../../common/log.ts';

/**
 * `outage`: PostgreSQL is unavailable, or can do nothing now; `refusal`: it may refuse the data itself; `timeout`: something took
 * too long, or was locked; `other`: unknown: the work waits.
 */
export type Fault = 'outage' | 'refusal' | 'timeout' | 'other';

/** SQLSTATEs that `hasState` asks for. */
const states = {
  /** By statement_timeout, or a person. */
  queryCanceled: '57014',
  /** By lock_timeout, or `nowait`. */
  lockNotAvailable: '55P03',
  uniqueViolation: '23505',
  duplicateSchema: '42P06',
  duplicateTable: '42P07',
  duplicatePreparedStatement: '42P05',
  invalidStatementName: '26000',
  /** The columns of a view are others, or what a function returns. */
  invalidTableDefinition: '42P16',
  invalidFunctionDefinition: '42P13',
  dependentObjects: '2BP01',
  /** A view depends on a column. */
  featureNotSupported: '0A000',
} as const;

export const hasState = (error: unknown, ...names: (keyof typeof states)[]): error is pg.DatabaseError =>
  error instanceof pg.DatabaseError && names.some((name) => states[name] === error.code);

const faults: Record<string, Fault> = {
  [states.queryCanceled]: 'timeout',
  [states.lockNotAvailable]: 'timeout',
  '40P01': 'timeout', // deadlock
  '25P03': 'timeout', // idle_in_transaction_session_timeout
  '25P04': 'timeout', // transaction_timeout
  '08': 'outage', // connection
  '53': 'outage', // memory, disk, connections
  '57': 'outage', // shutdown, start-up
  '58': 'outage', // input and output
  '25': 'outage', // read-only
  '28': 'outage', // name or password
  '3D': 'outage', // no such database
  '22': 'refusal', // data
  '23': 'refusal', // constraints
  '54': 'refusal', // program limits: too deep, too large
};

/** This version may not change the tables: a person has to act. */
export class TablesRefused extends Error {
  override name = 'TablesRefused';
}

export class OtherFamilies extends Error {
  override name = 'OtherFamilies';
  constructor() {
    super('The tables are made for other families. Run receiver migrate with the same FAMILIES first.');
  }
}

export const makeUtf8 =
  "Make another one, and set DATABASE_URL to it: create database receiver_utf8 encoding 'UTF8' lc_collate 'C' lc_ctype 'C' template template0";

/** @param error of a query; one of the connection or the driver, which have no class of their own, is an outage, ours never */
export function faultOf(error: unknown): Fault {
  if (!(error instanceof pg.DatabaseError))
    return /^(Aggregate)?Error$/.test((error as Error).constructor.name) ? 'outage' : 'other';
  const code = error.code ?? '';
  return faults[code] ?? faults[code.slice(0, 2)] ?? 'other';
}

/** An error of PostgreSQL without the values in its message: they may be a patient's. Of another one its code, or else its name. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  if (!(error instanceof pg.DatabaseError)) return (error as NodeJS.ErrnoException).code ?? error.name;
  const place = [error.table, error.column, error.constraint].filter(Boolean).join('.');
  return `${messageOf(error)}${place && ` (${place})`}`;
}

/** For a reader. Of another error without a SQLSTATE nothing is known. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return faultOf(error) === 'outage';
  const { code = '', message = '' } = (error ?? {}) as { code?: string; message?: string };
  return (
    /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN)$/.test(code) ||
    /^(timeout e|Query read timeout|Connection terminated)/.test(message)
  );
}

/** No store can keep a delivery: the sender has to send it again. */
export class Unavailable extends Error {
  override name = 'Unavailable';
  readonly delivery: string | undefined;
  constructor(cause: unknown, delivery?: string) {
    super('No store is available for the delivery.', { cause });
    this.delivery = delivery;
  }
}
