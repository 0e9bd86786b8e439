import pg from 'pg';

// Classes of SQLSTATE that speak of the data: exceptions, constraints, program limits (too deep, too large).
const ofTheData = new Set(['22', '23', '54']);

/** Whether PostgreSQL refused the data itself, so that trying again cannot help. */
export function isRefusedData(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && ofTheData.has(error.code?.slice(0, 2) ?? '');
}

/** Why PostgreSQL refused it, without the values that its message quotes: they may be a patient's. */
export function describeRefusal(error: pg.DatabaseError): string {
  const place = [error.table, error.column, error.constraint].filter(Boolean).join('.');
  const message = error.message.replace(/"[^"]*"/g, '"…"');
  return `${error.code} ${message}${place ? ` (${place})` : ''}`;
}
