import { randomUUID } from 'node:crypto';

const remembered = 10_000;

/** What a transaction id is good for; the operation that hands out the first one is not in the interface. */
export type Use = 'begin' | 'create-by-aadhaar';

/** Transaction ids, each good for one step. An id that begins with "start-" begins a registration, once. */
export function transactions() {
  const open = new Map<string, Use>();
  const spent = new Set<string>();

  return {
    /** Why the id cannot be used for this step, or undefined if it can. */
    objection(id: string, use: Use): string | undefined {
      if (spent.has(id)) return 'this transaction id was used before';
      const good = open.get(id) ?? (id.startsWith('start-') ? 'begin' : undefined);
      if (good === undefined) return 'this transaction id is unknown';
      return good === use ? undefined : 'this transaction id belongs to another step';
    },
    spend(id: string): void {
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
  if (ids.size > remembered) ids.delete(ids.keys().next().value as string);
}
