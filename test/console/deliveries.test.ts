import fc from 'fast-check';
import { sql } from 'kysely';
import { formatDuration, formatMoment, parseLocal } from '../../src/common/times.ts';
import { families } from '../../src/families/index.ts';
import {
  type DeliveryFilter,
  listDeliveries,
  type Place,
  pageQuery,
} from '../../src/intake/list-deliveries.ts';
import {
  consentFormCallback,
  deliveryOf,
  history,
  receiptCallback,
  reviewRequestCallback,
} from '../support/callbacks.ts';
import {
  apply,
  clear,
  insertCallbacks,
  insertWithStatus,
  moveApplied,
  setTimes,
} from '../support/deliveries.ts';
import { type PlanNode, rowsRead } from '../support/plans.ts';
import { useConsole } from './use-console.ts';

const { database, visitor, logged } = useConsole();
beforeEach(() => clear(database));

/** The ids of a filter's deliveries, page by page in one direction. */
async function walk(
  filter: DeliveryFilter,
  size: number,
  direction: 'before' | 'after',
  meanwhile = async () => {},
) {
  const pages: string[][] = [];
  let place: Place = direction === 'after' ? { after: '0.00000000-0000-0000-0000-000000000000' } : {};
  for (;;) {
    const { rows, older, newer } = await listDeliveries(database.db, families, filter, place, size);
    pages.push(rows.map(({ id }) => id));
    if (direction === 'after' && pages.length > 1) expect(older).toBe(true);
    if (pages.length > 100) throw new Error('The pages do not end.');
    if (!(direction === 'before' ? older : newer)) return direction === 'before' ? pages : pages.reverse();
    place = direction === 'before' ? { before: rows.at(-1)!.place } : { after: rows[0]!.place };
    await meanwhile();
  }
}

it('pages in either direction contain every matching delivery once, newest first, while others arrive', async () => {
  const one = <Value>(name: string, ...values: Value[]) =>
    fc.constantFrom(...values).map((value) => ({ [name]: value }));
  // Two at most: with more, hardly any delivery matches.
  const filters = fc
    .tuple(
      fc.option(one('order', 'event'), { nil: {} }),
      fc.array(
        fc.oneof(
          one('family', 'receipt', 'consent_form'),
          one('event', 'receipt.created'),
          one('status', 'applied', 'received', 'failed'),
          one('business', 'b1', 'b2'),
          one('receipt', '1', '2'),
          one('since', new Date(1_700_000_001_000)),
          one('until', new Date(1_700_000_002_000)),
          one('receivedSince', new Date('2023-11-15T18:29:59Z')),
          one('receivedUntil', new Date('2023-11-15T18:30:01Z')),
        ),
        { maxLength: 2 },
      ),
    )
    .map(([order, parts]): DeliveryFilter => Object.assign({}, order, ...parts));
  await fc.assert(
    fc.asyncProperty(history, filters, fc.integer({ min: 1, max: 7 }), async (callbacks, filter, size) => {
      await clear(database);
      await apply(database, callbacks);
      // With ties, microseconds, and a midnight of the reports' time zone in between.
      const moment = `timestamptz '2023-11-15 18:29:59Z' + get_byte(uuid_send(t.id), 14) % 3 * interval '0.900001 s'`;
      await setTimes(database, { received_at: moment, applied_at: moment });
      await moveApplied(database, 'get_byte(uuid_send(id), 15) < 64', 'failed');
      await moveApplied(database, 'get_byte(uuid_send(id), 15) > 192', 'pending');
      const { order, since, until, receivedSince, receivedUntil, receipt } = filter;
      const all = await database.rows(
        `select * from deliveries order by ${order === 'event' ? '' : 'received_at desc, '} id desc`,
      );
      const expected = all.filter((row) => {
        const { event_time, received_at, envelope } = row as { event_time: Date; received_at: Date } & {
          envelope: { data: { receipt_id: number } };
        };
        return (
          (!filter.family || row.family === filter.family) &&
          (!filter.event || row.event === filter.event) &&
          (!filter.status || row.status === filter.status) &&
          (!filter.business || row.business_id === filter.business) &&
          (!since || event_time >= since) &&
          (!until || event_time < until) &&
          (!receivedSince || received_at >= receivedSince) &&
          (!receivedUntil || received_at < receivedUntil) &&
          (!receipt || String(envelope.data.receipt_id) === receipt)
        );
      });
      const ids = expected.map(({ id }) => id);
      expect((await walk(filter, size, 'after')).flat()).toEqual(ids);
      let arrived = 0;
      const meanwhile = async () => {
        arrived += 1;
        const event_time = 1_700_001_000 + arrived;
        await apply(database, [receiptCallback({ event_time, data: { receipt_id: 1 } })]);
        if (!filter.status) await moveApplied(database, `id = '${ids.at(-1)}'`, 'failed');
      };
      expect((await walk(filter, size, 'before', meanwhile)).flat()).toEqual(ids);
    }),
    { numRuns: 20 },
  );
});

it('reads only a few of 20,000 deliveries for a page, whatever the filter', async () => {
  const id = '018bcfe5-6800-8000-8000-000000003000';
  // Of the same second as the delivery.
  const place = { before: `1700737280000000.${id}` };
  const at = (second: number) => new Date(1_700_000_000_000 + second * 1000);
  const filters: [string, DeliveryFilter, Place][] = [
    ['the first page', {}, {}],
    ['a page in the middle', {}, place],
    ['the page before it', {}, { after: place.before }],
    ['a page in the middle, by event', { order: 'event' }, place],
    ['those of an event', { event: 'mcert.created' }, place],
    ['those of a business', { business: 'b7' }, {}],
    ['a page of a business', { business: 'b7' }, place],
    ['those of a business, by event', { business: 'b7', order: 'event' }, {}],
    ['those of a business that has stopped', { business: 'old' }, {}],
    ['those of another business', { business: 'nobody' }, {}],
    ['those that failed', { status: 'failed' }, {}],
    ['those of one second', { since: new Date(1_700_000_000_000), until: new Date(1_700_000_001_000) }, {}],
    ['those since a second', { since: new Date(1_700_000_001_000) }, {}],
    ['those that came in one minute', { receivedSince: at(3_000), receivedUntil: at(3_060) }, {}],
    ['those that came before', { receivedUntil: at(60) }, {}],
    ['one receipt', { receipt: '5' }, {}],
    ['one delivery', { id }, {}],
  ];

  await insertWithStatus(
    database,
    `select ('018bcfe5-6800-8000-8000-' || lpad(to_hex(n), 12, '0'))::uuid as id, 'mcert.created' as event,
            case when n % 3 = 0 then 'receipt' else 'consent_form' end as family, 'c' as client_id,
            case when n <= 4000 then 'old' else 'b' || n % 10 end as business_id, to_timestamp(1.7e9) as event_time,
            jsonb_build_object('data', jsonb_build_object('receipt_id', n)) as envelope,
            to_timestamp(1.7e9 + n * 60) as received_at,
            case when n % 4000 = 0 then 'failed' else 'applied' end as status
     from generate_series(1, 20000) as n`,
  );
  await database.pool.query(
    `insert into receipt_versions (receipt_id, business_id, delivery_id, client_id, last_event, event_time, extra,
                                   received_at, applied_at)
     select reporting.receipt_id(envelope), business_id, id, client_id, event, event_time, '{}', now(), now()
     from deliveries where family = 'receipt' and status = 'applied'`,
  );
  await database.pool.query('vacuum analyze');
  for (const [name, filter, at] of filters) {
    const { rows } = await sql<{ 'QUERY PLAN': { Plan: PlanNode }[] }>`
      explain (analyze, format json) ${pageQuery(families, filter, at, 51)}`.execute(database.db);
    const read = rowsRead(rows[0]!['QUERY PLAN'][0]!.Plan, 'Scan');
    expect({ name, few: read < 3_000, read }).toEqual({ name, few: true, read });
  }
});

it('an event time that was ahead of the clock when the callback came is marked in words', async () => {
  const inSeconds = (ahead: number) => Math.floor(Date.now() / 1000) + ahead;
  await apply(database, [receiptCallback({ event_time: inSeconds(20) })]);
  expect(await visitor.read('/deliveries')).not.toContain('ahead of the clock');
  await apply(database, [receiptCallback({ event_time: inSeconds(3 * 3600 + 30) })]);
  expect(await visitor.read('/deliveries')).toMatch(/>3 h ahead of the clock</);
});

it('the newest arrival is on top, or the newest event, as the address says', async () => {
  const ids = await apply(database, [receiptCallback({ event_time: 1_700_000_100 })]);
  ids.push(...(await apply(database, [receiptCallback({ event_time: 1_700_000_000 })])));
  const shown = async (path: string) =>
    Array.from((await visitor.read(path)).matchAll(/console\/deliveries\/([\da-f-]{36})/g), ([, id]) => id);
  expect(await shown('/deliveries')).toEqual(ids.toReversed());
  expect(await shown('/deliveries?order=event')).toEqual(ids);
  expect((await visitor.get('/deliveries?before=x')).status).toBe(400);
});

it('a filter shows matching deliveries, and an invalid one says what is wrong', async () => {
  await apply(database, [receiptCallback(), consentFormCallback(), reviewRequestCallback()]);
  const all = await visitor.read('/deliveries');
  for (const event of ['receipt.created', 'mcert.created', 'google_review.request']) {
    expect(all).toContain(`>${event}</td>`);
  }
  const some = await visitor.read('/deliveries?family=consent_form&since=2023-11-15T03:43');
  expect(some).toContain('>mcert.created</td>');
  expect(some).not.toContain('>receipt.created</td>');
  expect(await visitor.read('/deliveries?since=2023-11-15T03:44')).toContain('No matching deliveries.');

  const wrong = await visitor.get('/deliveries?id=5&receipt=x&family=dog&since=yesterday&business=%00');
  const text = await wrong.text();
  expect(wrong.status).toBe(400);
  for (const fault of ['An id must be a UUID.', 'A receipt id must be a whole number.', 'Enter a date']) {
    expect(text).toContain(fault);
  }
});

describe('the page of a delivery', () => {
  const secret = {
    name: 'CANARY-NAME',
    mobile: '+915550000000',
    remarks: 'CANARY',
    unheard_of: 'CANARY',
    patient_oid: '15',
  };
  const callback = receiptCallback({ data: secret });
  const { id } = deliveryOf(callback);

  it('shows personal data only on demand, and logs that', async () => {
    await apply(database, [callback]);
    const page = await visitor.read(`/deliveries/${id}`);
    expect(page).not.toMatch(/CANARY|\+915550000000|files\.invalid|pay\.invalid/);
    expect(page).toMatch(/&quot;net_amount&quot;: 490.05/);

    logged.length = 0;
    const shown = await (await visitor.post(`/deliveries/${id}/personal`)).text();
    expect(shown).toContain('CANARY-NAME');
    const [entry] = await database.rows('select action, filter from access_log order by entry desc limit 1');
    expect(entry).toEqual({ action: 'reveal', filter: { delivery: id } });
    expect(logged.join()).not.toContain('CANARY');
    expect((await visitor.get(`/deliveries/${id}/personal`)).status).toBe(404);
  });

  it('shows its duplicates, and which delivery its row comes from', async () => {
    await apply(database, [callback]);
    await insertCallbacks(database, [callback]);
    const page = await visitor.read(`/deliveries/${id}`);
    expect(page).toContain('This delivery is the row’s current version.');
    expect(page).toContain('1, the last one at <time');
    const later = receiptCallback({ event_time: 1_700_000_500 });
    await apply(database, [later]);
    expect(await visitor.read(`/deliveries/${id}`)).toContain(`/console/deliveries/${deliveryOf(later).id}`);
  });

  it.each(['018bcfe5-6800-8a3c-9f10-0123456789ab', 'nothing', '%00', "'"])(
    'is not found for the id %s',
    async (none) => {
      expect((await visitor.get(`/deliveries/${none}`)).status).toBe(404);
    },
  );

  it('shows hostile values as text', async () => {
    const hostile = '"><script>alert(1)</script><img src=x onerror=alert(2)>';
    const made = receiptCallback({
      business_id: hostile,
      data: { name: hostile, clinic_id: hostile, [hostile]: hostile },
    });
    await apply(database, [made]);
    const path = `/deliveries/${deliveryOf(made).id}`;
    const pages = [
      await visitor.read('/deliveries'),
      await visitor.read(
        `/deliveries?business=${encodeURIComponent(hostile)}&error=${encodeURIComponent(hostile)}`,
      ),
      await visitor.read(path),
      await (await visitor.post(`${path}/personal`)).text(),
      await visitor.read('/reports/receipts?from=2023-11-01'),
      await visitor.read(`/nothing${encodeURIComponent(hostile)}`),
    ];
    for (const page of pages) {
      expect(page).not.toContain('<script>');
      expect(page).not.toContain('<img src=x');
    }
    expect(pages[2]).toContain('&lt;script>alert(1)');
  });
});

describe('times', () => {
  const zones = ['Asia/Kolkata', 'UTC', 'America/New_York', 'Australia/Lord_Howe'];

  it.each(zones)('a local time in %s is parsed as the same moment', (zone) => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2_000_000_000 }), (seconds) => {
        const reading = new Date(seconds * 1000)
          .toLocaleString('sv-SE', { timeZone: zone })
          .replace(' ', 'T');
        const at = parseLocal(reading, zone)!;
        // An hour that is repeated when clocks are set back may be either.
        expect(at.toLocaleString('sv-SE', { timeZone: zone }).replace(' ', 'T')).toBe(reading);
      }),
    );
  });

  it('are formatted for people', () => {
    expect(formatMoment(new Date(1_700_000_000_000), 'Asia/Kolkata')).toBe('15 Nov 2023, 03:43:20');
    expect([60, 950, 5_000, 61_000, 90_000_000].map(formatDuration)).toEqual([
      '0.06 s',
      '0.95 s',
      '5 s',
      '1 min 1 s',
      '1 d 1 h',
    ]);
  });
});
