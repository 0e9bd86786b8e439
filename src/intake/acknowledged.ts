import type { Delivery } from './delivery.ts';

/** A delivery that was acknowledged from the fallback store. */
export interface AcknowledgedDelivery {
  id: string;
  family: string;
  at: Date;
}

const perChunk = 4_096;
const idBytes = 16;

export type Acknowledged = ReturnType<typeof createAcknowledged>;

/**
 * The deliveries that this process has acknowledged from the fallback store, oldest first, until they are known to be rows: 21 bytes
 * each. More than `max` are only counted.
 */
export function createAcknowledged(max = 1_000_000) {
  const families: string[] = [];
  const chunks: { ids: Buffer; seconds: Uint32Array; families: Uint8Array }[] = [];
  /** How many were ever added and removed; the first chunk begins at a multiple of its size. */
  let added = 0;
  let removed = 0;
  let beyond = 0;

  const placeOf = (index: number) => {
    const base = removed - (removed % perChunk);
    return { chunk: chunks[Math.floor((index - base) / perChunk)]!, at: index % perChunk };
  };

  const add = ({ id, family }: Pick<Delivery, 'id' | 'family'>, seconds: number) => {
    if (added - removed >= max) {
      beyond += 1;
      return;
    }
    if (added % perChunk === 0) {
      chunks.push({
        ids: Buffer.alloc(perChunk * idBytes),
        seconds: new Uint32Array(perChunk),
        families: new Uint8Array(perChunk),
      });
    }
    const { chunk, at } = placeOf(added);
    chunk.ids.write(id.replaceAll('-', ''), at * idBytes, 'hex');
    chunk.seconds[at] = seconds;
    let index = families.indexOf(family);
    if (index < 0) index = families.push(family) - 1;
    chunk.families[at] = index;
    added += 1;
  };

  const read = (index: number): AcknowledgedDelivery => {
    const { chunk, at } = placeOf(index);
    const hex = chunk.ids.toString('hex', at * idBytes, (at + 1) * idBytes);
    return {
      id: hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
      family: families[chunk.families[at]!]!,
      at: new Date(chunk.seconds[at]! * 1000),
    };
  };

  return {
    add: (deliveries: readonly Pick<Delivery, 'id' | 'family'>[]): void => {
      const seconds = Math.floor(Date.now() / 1000);
      for (const delivery of deliveries) add(delivery, seconds);
    },
    /** How many are remembered. */
    get count(): number {
      return added - removed;
    },
    /** How many were too many to be remembered. */
    get beyond(): number {
      return beyond;
    },
    forgetBeyond: (): void => {
      beyond = 0;
    },
    first: (count: number): AcknowledgedDelivery[] =>
      Array.from({ length: Math.min(count, added - removed) }, (_, index) => read(removed + index)),
    removeFirst: (count: number): void => {
      const before = Math.floor(removed / perChunk);
      removed = Math.min(added, removed + count);
      chunks.splice(0, Math.floor(removed / perChunk) - before);
    },
  };
}
