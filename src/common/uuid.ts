/** A UUID of any version. */
export const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/**
 * A UUID of version 8 (RFC 9562).
 *
 * @param head 12 hexadecimal digits, in front of the version
 * @param rest at least 19, of which the fourth loses two bits to the variant
 */
export function uuidV8(head: string, rest: string): string {
  const variant = (8 + (Number.parseInt(rest[3]!, 16) & 3)).toString(16);
  return (
    `${head.slice(0, 8)}-${head.slice(8)}-8${rest.slice(0, 3)}-` +
    `${variant}${rest.slice(4, 7)}-${rest.slice(7, 19)}`
  );
}

/** The least id of a delivery whose event is at this time; PostgreSQL accepts UUIDs without hyphens. */
export function idAt(time: Date): string {
  return Math.max(0, time.getTime()).toString(16).padStart(12, '0').padEnd(32, '0');
}
