import fc from 'fast-check';
import type { Delivery } from '../../src/callbacks/delivery.ts';
import { coreOf, mergeAll } from '../support/core.ts';
import { deliveryOf } from '../support/intake.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';

const database = useReceiverDatabase();
const start = Math.floor(Date.now() / 1000) - 86_400;

const amount = fc.constantFrom(undefined, null, 100, 250.5);
const drawn = fc.record({
  id: fc.nat(1),
  kind: fc.constantFrom('created', 'updated', 'updated', 'deleted'),
  second: fc.nat(3),
  client_id: fc.constantFrom('', 'c1', 'c2'),
  data: fc.record({
    name: fc.constantFrom(undefined, null, 'A', 'B'),
    net_amount: amount,
    amount_paid: amount,
    amount_due: amount,
    created_at: fc.constantFrom(undefined, null, start - 90),
    archive: fc.constantFrom(undefined, 1, 'much'),
  }),
});
type Drawn = typeof drawn extends fc.Arbitrary<infer T> ? T : never;
interface Stored extends Drawn {
  delivery: Delivery;
  storedAt: string;
}
type Said = Omit<Drawn, 'client_id' | 'data'> & { client_id: string; data: object };
const byVersion = (a: { delivery: Delivery }, b: { delivery: Delivery }) =>
  a.delivery.version < b.delivery.version ? -1 : 1;
const event = ({ kind, second, id, client_id, data }: Said) => ({
  ...{ event: `receipt.${kind}`, event_time: start + second, business_id: 'b', client_id },
  data: { receipt_id: id, ...data },
});

const shown = `jsonb_build_object(
  'id', receipt_id, 'name', name, 'net', net_amount, 'paid', paid_amount, 'due', due_amount, 'archive', archive, 'client', client_id,
  'issued', extract(epoch from issued_at)::int, 'event', %, 'deleted', deleted_at is not null, 'delivery', delivery_id)`;

/** What a page shows that reads callbacks in the order of their versions; undefined: there are none. */
function pageOf(stored: readonly Stored[]) {
  const ordered = stored.toSorted(byVersion);
  const newest = ordered.at(-1);
  if (!newest) return undefined;
  const said: Partial<Drawn['data']> = {};
  for (const { kind, data } of ordered)
    for (const [name, value] of Object.entries(data))
      if (value !== undefined && value !== 'much' && !(kind === 'deleted' && value === null))
        Object.assign(said, { [name]: value });
  const { name = null, net_amount: net = null, amount_paid: paid = null, amount_due = null } = said;
  return {
    ...{ id: newest.id, delivery: newest.delivery.id, event: `receipt.${newest.kind}` },
    ...{ name, net, paid, archive: said.archive ?? null },
    due: net !== null && paid !== null ? net - paid : amount_due,
    client: ordered.findLast(({ client_id }) => client_id)?.client_id ?? '',
    issued: said.created_at ?? start + Math.min(...ordered.map(({ second }) => second)),
    deleted: newest.kind === 'deleted',
  };
}
const pagesOf = (stored: readonly Stored[]) =>
  [0, 1].flatMap((id) => pageOf(stored.filter((one) => one.id === id)) ?? []);

it('receipts as of a moment, and their history, are those of the callbacks that were stored by then', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(drawn, { minLength: 1, maxLength: 8 }), async (history) => {
      await database.rows('truncate receiver.inbox, receiver.pending_deliveries, receipts');
      const stored: Stored[] = [];
      for (const [n, one] of history.entries()) {
        // Each is another one, also of equal content.
        const delivery = deliveryOf({ ...event(one), partition_id: n });
        await database.store(delivery);
        const [row] = await database.rows('select stored_at::text as at from receiver.inbox where id = $1', [
          delivery.id,
        ]);
        stored.push({ ...one, delivery, storedAt: row!.at as string });
      }
      await mergeAll(coreOf(database));
      const asOf = (moment: string) =>
        database.rows(
          `select ${shown.replace('%', 'last_event')} as page from reporting.receipts_as_of($1) order by receipt_id`,
          [moment],
        );
      for (const [n, { storedAt }] of stored.entries())
        expect((await asOf(storedAt)).map(({ page }) => page)).toEqual(pagesOf(stored.slice(0, n + 1)));
      expect(await asOf('-infinity')).toEqual([]);
      // And as of now they are the rows of the table.
      expect(
        await database.rows('select * from reporting.receipts_as_of(now()) order by receipt_id'),
      ).toEqual(await database.rows('select * from reporting.all_receipts order by receipt_id'));
      const versions = await database.rows(
        `select version::int, ${shown.replace('%', 'event')} as page from reporting.receipt_history order by receipt_id, version`,
      );
      expect(versions).toEqual(
        [0, 1].flatMap((id) => {
          const own = stored.filter((one) => one.id === id).toSorted(byVersion);
          return own.map((_, n) => ({ version: n + 1, page: pageOf(own.slice(0, n + 1)) }));
        }),
      );
    }),
    { numRuns: 40 },
  );
});

const paying = fc.record({
  id: fc.nat(2),
  kind: fc.constantFrom('created', 'updated', 'updated', 'updated', 'deleted'),
  second: fc.integer({ min: -2, max: 2 }).map((days) => days * 86_400),
  client_id: fc.constant('c'),
  data: fc.record({
    amount_paid: fc.constantFrom(undefined, null, 0, 100, '250.50', ' 40 ', '', 'much', 0.1),
    receipt_status: fc.constantFrom(undefined, 'SUCCESS', 'FAILED', 'Failed'),
    updated_at: fc.constantFrom(undefined, start, start + 7),
  }),
});

/** In paise: what each callback changed, in the order of versions. */
function paymentsOf(
  stored: readonly (typeof paying extends fc.Arbitrary<infer T> ? T & { delivery: Delivery } : never)[],
) {
  const ordered = stored.toSorted(byVersion);
  const status = ordered.findLast(({ data }) => data.receipt_status)?.data.receipt_status;
  if (status?.toUpperCase() === 'FAILED') return [];
  let paid = 0;
  return ordered.flatMap(({ id, delivery, data: { amount_paid } }) => {
    const isKnown = amount_paid != null && amount_paid !== '' && amount_paid !== 'much';
    const [before, now] = [paid, isKnown ? Math.round(Number(amount_paid) * 100) : paid];
    paid = now;
    const kind = now < before ? 'refund' : 'payment';
    return now === before
      ? []
      : [{ id, delivery: delivery.id, at: delivery.eventMs, amount: now - before, kind }];
  });
}

it('payments are the changes of the last amount paid that is known, so that they add up to it, in any order and repetition', async () => {
  const histories = fc
    .array(paying, { minLength: 1, maxLength: 8 })
    .chain((sent) => fc.shuffledSubarray([...sent, ...sent], { minLength: sent.length }));
  await fc.assert(
    fc.asyncProperty(histories, async (history) => {
      await database.rows('truncate receiver.inbox, receiver.pending_deliveries, receiver.resends, receipts');
      const arrivals = history.map((one) => ({ ...one, delivery: deliveryOf(event(one)) }));
      for (const { delivery } of arrivals) await database.store(delivery);
      await mergeAll(coreOf(database));
      // A resend is the callback that was there.
      const stored = arrivals.filter(
        ({ delivery }, n) => n === arrivals.findIndex((one) => one.delivery.id === delivery.id),
      );
      const found = await database.rows(`
        select receipt_id::int as id, delivery_id as delivery, (extract(epoch from paid_at) * 1000)::float as at,
          (amount * 100)::int as amount, kind
        from reporting.payments where day = reporting.day(paid_at)
        order by receipt_id, (select version from receiver.inbox where inbox.id = delivery_id)`);
      expect(found).toEqual([0, 1, 2].flatMap((id) => paymentsOf(stored.filter((one) => one.id === id))));
      const differing = `select from reporting.all_receipts r where paid_amount is not null and not reporting.is_failed(status)
        and paid_amount <> (select coalesce(sum(amount), 0) from reporting.payments p where p.receipt_id = r.receipt_id)`;
      expect(await database.rows(differing)).toEqual([]);
    }),
    { numRuns: 60 },
  );
});
