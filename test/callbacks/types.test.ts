import type { Tables } from '../../db/tables.d.ts';
import {
  amount,
  type Callback,
  type CallbackOf,
  type Decimal,
  defineFamily,
  integer,
  notPersonal,
  text,
} from '../../src/callbacks/authoring.ts';
import type { receipt } from '../../src/callbacks/families/receipt.ts';
import type { RowOf } from '../../src/callbacks/families/row.ts';

const envelope = { event_time: 1, timestamp: 1, client_id: 'c', business_id: 'b' } as const;

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
const holds = <_ extends true>() => {};

it('the event of a callback decides the type of its data', () => {
  const handle = (callback: Callback) => {
    if (callback.event === 'receipt.created' || callback.event === 'receipt.updated') {
      const { net_amount, receipt_id } = callback.data;
      holds<Same<typeof net_amount, number | string | Decimal | null | undefined>>();
      // @ts-expect-error: net_amount
      callback.data.net_amout;
      // @ts-expect-error: an amount is no object
      callback.data.net_amount = {};
      return receipt_id;
    }
    // @ts-expect-error: a field of other events
    callback.data.receipt_id;
    return callback.event === 'mcert.created' ? callback.data.id : undefined;
  };
  expect(
    handle({ ...envelope, event: 'receipt.created', data: { receipt_id: 7, net_amount: '450.50' } }),
  ).toBe(7);
  // @ts-expect-error: what identifies a receipt is required
  const withoutId: Callback = { ...envelope, event: 'receipt.updated', data: { net_amount: 5 } };
  // @ts-expect-error: no family lists the event
  const unknown: Callback = { ...envelope, event: 'receipt.printed', data: { receipt_id: 7 } };
  // @ts-expect-error: the event of another family has other data
  const mixed: Callback = { ...envelope, event: 'mcert.created', data: { receipt_id: 7 } };
  // @ts-expect-error: net_amount
  const misspelt: Callback = { ...envelope, event: 'receipt.updated', data: { receipt_id: 7, net_amout: 5 } };
  expect([withoutId, unknown, mixed, misspelt]).toHaveLength(4);
});

const base = {
  name: 'bill',
  events: { 'bill.created': 'created' },
  path: { default: ['/bills'] },
  table: 'bills',
  key: 'id',
} as const;

it('a field that is removed, or has another kind, is an error where its value is read', () => {
  const before = defineFamily({ ...base, fields: { id: notPersonal(text), total: amount, items: integer } });
  const after = defineFamily({ ...base, fields: { id: notPersonal(text), total: { kind: 'time' } } });
  const handle = (
    callback: CallbackOf<typeof before>,
    row: RowOf<typeof before>,
  ): [unknown, string | null] => [callback.data.items, row.total];
  const handleAfter = (
    callback: CallbackOf<typeof after>,
    row: RowOf<typeof after>,
  ): [unknown, string | null] => [
    // @ts-expect-error: it was removed
    callback.data.items,
    // @ts-expect-error: a time is a Date
    row.total,
  ];
  expect([handle, handleAfter]).toHaveLength(2);
  holds<Same<RowOf<typeof receipt>['net_amount'], string | null>>();
  // What others import says the same.
  holds<Same<RowOf<typeof receipt>, Tables['receipts']>>();
  holds<'net_amout' extends keyof RowOf<typeof receipt> ? false : true>();
});

it('the names that a family gives are those of its fields', () => {
  const fields = { id: text, total: amount };
  const bill = defineFamily({ ...base, printedNumber: 'total', fields });
  const callback: CallbackOf<typeof bill> = {
    ...envelope,
    event: 'bill.created',
    data: { id: 'a', total: 5 },
  };
  // @ts-expect-error: what identifies a record is required
  const withoutId: CallbackOf<typeof bill> = { ...envelope, event: 'bill.created', data: { total: 5 } };
  // @ts-expect-error: it has no such field
  const misspelt = defineFamily({ ...base, key: 'no', fields });
  // @ts-expect-error: nor to show
  const shown = defineFamily({ ...base, fields, printedNumber: 'totla' });
  // @ts-expect-error: a sample of another kind
  const sampled = defineFamily({ ...base, fields, sample: { total: {} } });
  // @ts-expect-error: a kind that does not exist
  const dated = defineFamily({ ...base, fields: { ...fields, day: { kind: 'date' } } });
  // @ts-expect-error: a class that does not exist
  const removed = defineFamily({ ...base, fields, events: { 'bill.removed': 'removed' } });
  expect([callback, withoutId, misspelt, shown, sampled, dated, removed]).toHaveLength(7);
});
