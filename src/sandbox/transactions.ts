import { randomUUID } from 'node:crypto';

const maxIds = 10_000;

/** The operation that a transaction id is valid for; the one that issues the first id is not in the interface. */
export type Use = 'begin' | 'create-by-aadhaar';

/** Transaction ids, each valid for one operation, once. One that begins with "start-" begins a registration. */
export function transactions() {
  const open = new Map<string, Use>();
  const spent = new Set<string>();

  return {
    /** Why the id is not valid for this use; undefined if it is. */
    rejectionReason(id: string, use: Use): string | undefined {
      if (spent.has(id)) return 'this transaction id was already used';
      const validFor = open.get(id) ?? (id.startsWith('start-') ? 'begin' : undefined);
      if (validFor === undefined) return 'this transaction id is unknown';
      return validFor === use ? undefined : 'this transaction id is for another operation';
    },
    consume(id: string): void {
      open.delete(id);
      spent.add(id);
      dropOldest(spent);
    },
    issue(use: Use): string {
      const id = randomUUID();
      open.set(id, use);
      dropOldest(open);
      return id;
    },
  };
}

function dropOldest(ids: Map<string, unknown> | Set<string>): void {
  if (ids.size > maxIds) ids.delete(ids.keys().next().value as string);
}
