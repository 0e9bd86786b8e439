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

/** Why PostgreSQL refused it, without the values that its message quotes: they may be a patient's. */
export function describeRefusal(error: pg.DatabaseError): string {
  const place = [error.table, error.column, error.constraint].filter(Boolean).join('.');
  const message = error.message.replace(/"[^"]*"/g, '"…"');
  return `${error.code} ${message}${place ? ` (${place})` : ''}`;
}
