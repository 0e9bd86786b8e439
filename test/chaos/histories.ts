import { isDeepStrictEqual } from 'node:util';
import type { Random } from '../../src/sandbox/random.ts';
import { paths } from '../support/callbacks.ts';
import { until } from '../support/until.ts';

interface Sent {
  path: string;
  body: string;
}

type Rows = (query: string) => Promise<Record<string, unknown>[]>;

interface Version {
  at: [second: number, rank: number, timestamp: number];
  event: string;
  data: Record<string, unknown>;
}

const fieldsOf = {
  receipt: ['name', 'mobile', 'net_amount', 'clinic_id', 'remarks'],
  consent_form: ['url', 'sendurlpdf', 'owner'],
} as const;
const start = Math.floor(Date.now() / 1000) - 86_400;

const storedRows = `
  select 'receipt ' || business_id || ' ' || receipt_id as key,
         jsonb_build_object('name', name, 'mobile', mobile, 'net_amount', net_amount, 'clinic_id', clinic_id,
                            'remarks', remarks, 'last_event', last_event, 'is_deleted', deleted_at is not null) as row
  from receipts
  union all
  select 'consent_form ' || business_id || ' ' || ltrim(id, '0'),
         jsonb_build_object('url', url, 'sendurlpdf', sendurlpdf, 'owner', owner, 'last_event', last_event,
                            'is_deleted', deleted_at is not null)
  from consent_forms`;

const progress = `
  select count(*)::int as all, bool_and(status = 'applied') as applied from deliveries where family in ('receipt', 'consent_form')`;

/**
 * Histories of receipts and consent forms: lean updates, nulls, deletions, revivals and equal times, two businesses with equal
 * ids. Their order is that of the versions; they are sent in another.
 */
export function createHistories(random: Random) {
  const versions = new Map<string, Version[]>();
  let records = 0;

  const draw = (family: keyof typeof fieldsOf, business: string, id: number): Sent[] => {
    const isReceipt = family === 'receipt';
    const key = `${family} ${business} ${id}`;
    const list: Version[] = [];
    versions.set(key, list);
    let second = start + random.between(0, 1_000);
    return Array.from({ length: random.between(1, 8) }, (_, n) => {
      const kind = n === 0 ? 'created' : isReceipt && random.between(0, 6) === 0 ? 'deleted' : 'updated';
      const event = `${isReceipt ? 'receipt' : 'mcert'}.${kind}`;
      const data: Record<string, unknown> = {};
      for (const field of fieldsOf[family])
        if (random.between(0, 9) < (n === 0 ? 8 : 2)) {
          const value = random.between(0, 1_000_000);
          data[field] = field === 'net_amount' ? value / 100 : `${field} ${value}`;
          if (kind !== 'deleted' && random.between(0, 9) === 0) data[field] = null;
        }
      // Of equal seconds the timestamp decides.
      if (n > 0 && random.between(0, 4) > 0) second += random.between(1, 90);
      const timestamp = second + n;
      list.push({ at: [second, ['created', 'updated', 'deleted'].indexOf(kind), timestamp], event, data });
      const identified = isReceipt ? { receipt_id: id } : { id: `00${id}` };
      const envelope = { event, event_time: second, timestamp, client_id: 'c', business_id: business };
      return {
        path: paths[family],
        // Each is another one, also of equal content.
        body: JSON.stringify({ ...envelope, data: { ...identified, ...data, n } }),
      };
    });
  };

  const count = () => [...versions.values()].reduce((sum, { length }) => sum + length, 0);

  /** The records whose rows are not what a reader of their callbacks in order would write; and rows of no record. */
  const wrongRows = async (rows: Rows) => {
    const stored = new Map((await rows(storedRows)).map(({ key, row }) => [key, row]));
    const wrong = [...versions].flatMap(([key, list]) => {
      const family = key.split(' ')[0] as keyof typeof fieldsOf;
      const expected = Object.fromEntries(fieldsOf[family].map((name) => [name, null]));
      for (const { event, data } of list.toSorted((a, b) => compare(a.at, b.at)))
        Object.assign(expected, data, { last_event: event, is_deleted: event.endsWith('.deleted') });
      const row = stored.get(key);
      stored.delete(key);
      return isDeepStrictEqual(row, expected) ? [] : [{ key, expected, row }];
    });
    return [...wrong, ...stored];
  };

  return {
    /** The callbacks of some new records, in random order, some of them twice. */
    next: (): Sent[] => {
      const callbacks = Array.from({ length: 10 }, () => {
        records += 1;
        const family = random.between(0, 2) > 0 ? 'receipt' : 'consent_form';
        return ['b1', 'b2'].flatMap((business) => draw(family, business, records));
      }).flat();
      const again = callbacks.filter(() => random.between(0, 19) === 0);
      return shuffled([...callbacks, ...again], random);
    },
    count,
    wrongRows,
    /** Waits until all callbacks are there once and applied: then no row may be wrong. */
    expectMerged: async (rows: Rows) => {
      const isMerged = async () => {
        const [row] = await rows(progress).catch(() => []);
        return row?.applied && row.all === count();
      };
      await until(isMerged, 180_000, 500);
      expect(await wrongRows(rows)).toEqual([]);
    },
  };
}

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, index) => value !== b[index]);
  return at < 0 ? 0 : a[at]! - b[at]!;
}

function shuffled<T>(items: T[], random: Random): T[] {
  for (let at = items.length - 1; at > 0; at -= 1) {
    const other = random.between(0, at);
    [items[at], items[other]] = [items[other]!, items[at]!];
  }
  return items;
}
