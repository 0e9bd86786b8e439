import { amount, type CallbackOf, defineFamily, text } from '../../src/callbacks/authoring.ts';
import type { Callback } from '../../src/callbacks/callback.ts';

const envelope = { event_time: 1, timestamp: 1, client_id: 'c', business_id: 'b' } as const;

it('the union of callbacks has the types of its families', () => {
  const receipt: Callback = {
    ...envelope,
    event: 'receipt.created',
    data: { receipt_id: 7, net_amount: '450.50' },
  };
  if (receipt.event === 'receipt.created') {
    const id: number | string = receipt.data.receipt_id;
    expect(id).toBe(7);
    // @ts-expect-error: an amount is no object
    receipt.data.net_amount = {};
  }
  // @ts-expect-error: what identifies a receipt is required
  const withoutId: Callback = { ...envelope, event: 'receipt.updated', data: { net_amount: 5 } };
  // @ts-expect-error: no family lists the event
  const unknown: Callback = { ...envelope, event: 'receipt.printed', data: { receipt_id: 7 } };
  // @ts-expect-error: the event of another family has other data
  const mixed: Callback = { ...envelope, event: 'mcert.created', data: { receipt_id: 7 } };
  expect([withoutId, unknown, mixed]).toHaveLength(3);
});

it('the names that a family gives are those of its fields', () => {
  const base = {
    name: 'bill',
    events: { 'bill.created': 'created' },
    path: { default: ['/bills'] },
    table: 'bills',
  } as const;
  const fields = { id: text, total: amount };
  const bill = defineFamily({ ...base, key: 'id', headline: ['total'], fields });
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
  const shown = defineFamily({ ...base, fields, headline: ['totla'] });
  // @ts-expect-error: a kind that does not exist
  const dated = defineFamily({ ...base, fields: { ...fields, day: { kind: 'date' } } });
  // @ts-expect-error: a class that does not exist
  const removed = defineFamily({ ...base, fields, events: { 'bill.removed': 'removed' } });
  expect([callback, withoutId, misspelt, shown, dated, removed]).toHaveLength(6);
});
