import { randomUUID } from 'node:crypto';

const maxIds = 20_000;

/** The operation that a transaction id is valid for; the one that issues the first id is not in the interface. */
export type Use = 'begin' | 'create-by-aadhaar';

/** Transaction ids, each valid for one operation, once. One that begins with "start-" begins a registration. */
export function transactions() {
  const uses = new Map<string, Use | 'none'>();

  function set(id: string, use: Use | 'none'): void {
    uses.set(id, use);
    if (uses.size > maxIds) uses.delete(uses.keys().next().value as string);
  }
  return {
    /** Why the id is not valid for this use; undefined if it is. */
    rejectionReason(id: string, use: Use): string | undefined {
      const validFor = uses.get(id) ?? (id.startsWith('start-') ? 'begin' : undefined);
      if (validFor === use) return undefined;
      if (validFor === undefined) return 'this transaction id is unknown';
      return `this transaction id ${validFor === 'none' ? 'was already used' : 'is for another operation'}`;
    },
    consume: (id: string) => set(id, 'none'),
    issue(use: Use): string {
      const id = randomUUID();
      set(id, use);
      return id;
    },
  };
}
