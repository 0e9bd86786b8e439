import fc from 'fast-check';
import type { Delivery } from '../../src/callbacks/delivery.ts';
import { findRecord, readRecord } from '../../src/inbox/read-record.ts';
import type { Core } from '../../src/receiver/feature.ts';
import { coreOf, mergeAll } from '../support/core.ts';
import { deliveryOf } from '../support/intake.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';

const database = useReceiverDatabase();
let core: Core;
beforeAll(() => {
  core = coreOf(database);
});

const start = Math.floor(Date.now() / 1000) - 86_400;
const drawn = fc.record({
  kind: fc.constantFrom('created', 'updated', 'updated', 'deleted'),
  second: fc.nat(3),
  /** Stored only after the merge. */
  waits: fc.boolean(),
  data: fc.record({
    name: fc.constantFrom(undefined, null, 'A', 'B'),
    amount_paid: fc.constantFrom(undefined, null, 100, 250.5),
    archive: fc.constantFrom(undefined, 1, 'much'),
    created_at: fc.constantFrom(undefined, 0, start - 90),
    additional_discount_amount: fc.constantFrom(undefined, 5),
    additional_discount_type: fc.constantFrom(undefined, 'AMOUNT'),
    further: fc.constantFrom(undefined, null, 'X', { a: 1 }),
  }),
});
type Said = Record<string, unknown>;

/** What a callback says: the rules of tolerance, for these fields alone. */
function saidBy(kind: string, data: Said): Said {
  const said: Said = {};
  const isDeletion = kind === 'deleted';
  for (const [name, value] of Object.entries(data)) {
    if (value === undefined || (isDeletion && value === null) || (name === 'created_at' && value === 0))
      continue;
    const isExtra = name === 'further' || (name === 'archive' && value === 'much');
    said[isExtra ? `extra.${name}` : name] = value;
  }
  if (!isDeletion && 'additional_discount_amount' in said)
    for (const other of ['additional_discount_type', 'additional_discount_value']) said[other] ??= null;
  return said;
}

const textOf = (value: unknown) =>
  value == null ? null : typeof value === 'object' ? JSON.stringify(value) : String(value);

it('the page of a record has the deciding callback of each field, and the changes of each callback', async () => {
  let receipt_id = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(drawn, { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 1, max: 9 }),
      async (history, max) => {
        receipt_id += 1;
        const stored: { delivery: Delivery; said: Said; waits: boolean }[] = history.map(
          ({ kind, second, waits, data }, n) => ({
            delivery: deliveryOf({
              ...{ event: `receipt.${kind}`, event_time: start + second, business_id: 'b' },
              // Each is another one, also of equal content.
              data: { receipt_id, ref_trx_id: String(n), ...data },
            }),
            said: { receipt_id, ref_trx_id: String(n), ...saidBy(kind, data) },
            waits,
          }),
        );
        for (const waits of [false, true]) {
          const some = stored.filter((one) => one.waits === waits).map(({ delivery }) => delivery);
          if (some.length > 0) await database.store(...some);
          if (!waits) await mergeAll(core);
        }
        const ordered = stored.toSorted((a, b) => (a.delivery.version < b.delivery.version ? -1 : 1));
        const values: Said = {};
        let isUnfit = false;
        const changes = new Map<string, string[]>();
        for (const { delivery, said, waits } of ordered) {
          if (waits) {
            changes.set(delivery.id, []);
            continue;
          }
          const changed = Object.keys(said).filter((name) => textOf(values[name]) !== textOf(said[name]));
          changes.set(delivery.id, changed.map((name) => name.replace('extra.', '')).toSorted());
          // What did not fit goes once a later value fits.
          if ('archive' in said) isUnfit = false;
          if ('extra.archive' in said) isUnfit = true;
          Object.assign(values, said);
        }

        const key = await findRecord(core, 'receipt', 'b', String(receipt_id));
        const page = (await readRecord(core, key!, max))!;
        expect(page.versions.map(({ id, status }) => [id, status])).toEqual(
          ordered
            .toReversed()
            .slice(0, max)
            .map(({ delivery: { id }, waits }) => [id, waits ? 'received' : 'applied']),
        );
        for (const { id, changed } of page.versions) expect(changed.toSorted()).toEqual(changes.get(id));
        expect(page.isComplete).toBe(ordered.length <= max);
        if (Object.keys(values).length === 0) expect(page.row).toBeUndefined();
        const extra = JSON.parse(page.row?.extra ?? '{}');
        if (!isUnfit) delete values['extra.archive'];
        expect('archive' in extra).toBe(isUnfit);
        for (const [name, value] of Object.entries(values)) {
          if (name.startsWith('extra.')) expect(extra[name.slice(6)]).toEqual(value);
          else if (name !== 'created_at') expect(page.row![name]).toBe(textOf(value));
        }
      },
    ),
    { numRuns: 60 },
  );
});
