import fc from 'fast-check';
import { addDays } from '../../src/common/days.ts';
import { readColumns } from '../../src/reports/columns.ts';
import type { ReportFilter } from '../../src/reports/filter.ts';
import { type Group, type Grouping, groupings, readGroups } from '../../src/reports/groups.ts';
import { comparisons, type EarlierPeriod, type Period, periodBefore } from '../../src/reports/periods.ts';
import { askReport } from '../../src/reports/queries.ts';
import { reports } from '../../src/reports/reports.ts';
import { updateSums } from '../../src/store/reporting/daily-sums.ts';
import { samples } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { apply } from '../support/deliveries.ts';

const database = useDatabase();

const first = '2025-12-01';
/** Receipts of some days of 14 months, of two businesses, three clinics and five doctors, one of them without an id. */
beforeAll(async () => {
  await apply(
    database,
    ['b0', 'b1'].map((business_id) => samples.review_request({ business_id })),
  );
  await database.pool.query(
    `insert into receipts (business_id, receipt_id, client_id, last_event, event_time, extra, delivery_id, received_at,
       applied_at, net_amount, amount_due, clinic_id, doctor_oid)
     select 'b' || n % 2, n, 'c', 'receipt.created', ($1::date + n * 7 % 425)::timestamp at time zone 'Asia/Kolkata', '{}',
       gen_random_uuid(), now(), now() - interval '2 hours', n % 50 + n % 3 * 0.25, n % 5, 'c' || n * n % 3, nullif('d' || n * 5 % 7 % 5, 'd4')
     from generate_series(1, 600) n`,
    [first],
  );
  await updateSums(database.db, 'activities');
});

async function ask(view: string, filter: ReportFilter) {
  const report = reports.find((one) => one.view === view)!;
  const columns = await readColumns(database.db, report);
  return askReport(database.db, { report, columns, shown: columns, filter });
}

const day = fc.integer({ min: 0, max: 424 }).map((days) => addDays(first, days));
const period = fc.oneof(
  fc.tuple(day, day).map((days): Period => {
    const [from, to] = days.toSorted();
    return { from: from!, to: to! };
  }),
  day.map((one): Period => ({ from: `${one.slice(0, 8)}01`, to: one })),
);

const labels: Record<Grouping, string> = {
  day: 'day::text',
  week: `date_trunc('week', day)::date::text`,
  month: `to_char(day, 'YYYY-MM')`,
  clinic: 'clinic_id',
  doctor: 'doctor_id',
  business: 'business_id',
};

/** The sums of a period by label, from the rows themselves. */
async function sumRows(group: Grouping, { from, to }: Period, { months, days } = { months: 0, days: 0 }) {
  const rows = await database.rows(
    `select ${labels[group]} as label, sum(net_amount)::text as net, count(*)::text as rows
     from (select clinic_id, doctor_id, business_id, net_amount,
             (day + make_interval(months => ${months}, days => ${days}))::date as day
           from reporting.receipts where day between '${from}' and '${to}') receipts
     group by 1`,
  );
  return new Map(
    rows.map(({ label, net, rows }) => [label as string | null, { net: Number(net), rows: Number(rows) }]),
  );
}

it('the sums of groups, and their change, are those of the rows; what is in one period only has zeros in the other', async () => {
  const question = fc.record({
    period,
    group: fc.constantFrom(...groupings),
    comparison: fc.constantFrom(undefined, ...comparisons),
    sort: fc.constantFrom(undefined, 'change', '-net_amount', 'label'),
  });
  await fc.assert(
    fc.asyncProperty(question, async ({ period, group, comparison, sort }) => {
      const earlier = comparison && periodBefore(period, comparison);
      const found = await readGroups(database.db, await ask('receipts', period), {
        group,
        earlier,
        of: 'net_amount',
        sort,
      });
      const now = await sumRows(group, period);
      const before = earlier ? await sumRows(group, earlier, earlier) : new Map();
      const all = [...new Set([...now.keys(), ...before.keys()])];
      expect(found.count).toBe(all.length);
      const none = { net: 0, rows: 0 };
      const expected = new Map(
        all.map((label) => [label, [now.get(label) ?? none, before.get(label) ?? none]]),
      );
      const shapeOf = ({ now, before, change }: Group) => ({
        now: { net: Number(now.net_amount), rows: Number(now.rows) },
        before: { net: Number(before.net_amount), rows: Number(before.rows) },
        change: Number(change.net_amount),
      });
      for (const one of found.groups) {
        const [now, before] = expected.get(one.label)!;
        expect([one.label, shapeOf(one)]).toEqual([
          one.label,
          { now, before, change: now!.net - before!.net },
        ]);
      }
      const sumOf = (map: Map<unknown, { net: number }>) =>
        [...map.values()].reduce((sum, { net }) => sum + net, 0);
      expect(shapeOf(found.total)).toMatchObject({
        now: { net: sumOf(now) },
        before: { net: sumOf(before) },
      });
      const values = found.groups.map(({ change, now }) =>
        Number((sort === 'change' ? change : now).net_amount),
      );
      if (sort === 'change' && earlier) expect(values).toEqual(values.toSorted((a, b) => a - b));
      if (sort === '-net_amount') expect(values).toEqual(values.toSorted((a, b) => b - a));
    }),
    { numRuns: 15 },
  );
});

it('rows without kept sums are grouped too, and more than are counted are said to be cut', async () => {
  const at = new Date(Date.now() - 3_600_000);
  const period = { from: '2026-01-01', to: '2026-12-31' };
  const question = { group: 'clinic', earlier: undefined, of: undefined, sort: undefined } as const;
  const asked = await ask('receipts_as_of', { ...period, at });
  const found = await readGroups(database.db, asked, question);
  const rows = await sumRows('clinic', period);
  expect(found.measures).toEqual(['rows']);
  expect(new Map(found.groups.map(({ label, now }) => [label, Number(now.rows)]))).toEqual(
    new Map([...rows].map(([label, { rows }]) => [label, rows])),
  );
  expect(found.isCut).toBe(false);
  const few = { ...asked, report: { ...asked.report, counted: 10 } };
  expect(await readGroups(database.db, few, question)).toMatchObject({ isCut: true });
});

it.each<[Period, (typeof comparisons)[number], Partial<EarlierPeriod>]>([
  [{ from: '2026-11-01', to: '2026-11-24' }, 'previous_period', { from: '2026-10-01', to: '2026-10-24' }],
  [{ from: '2026-03-01', to: '2026-03-30' }, 'previous_period', { from: '2026-02-01', to: '2026-02-28' }],
  [{ from: '2026-02-01', to: '2026-02-28' }, 'previous_period', { from: '2026-01-01', to: '2026-01-31' }],
  [{ from: '2026-01-01', to: '2026-06-30' }, 'previous_period', { from: '2025-07-01', to: '2025-12-31' }],
  [{ from: '2026-11-02', to: '2026-11-08' }, 'previous_period', { from: '2026-10-26', to: '2026-11-01' }],
  [{ from: '2026-11-24', to: '2026-11-24' }, 'previous_period', { from: '2026-11-23', to: '2026-11-23' }],
  [
    { from: '2024-02-29', to: '2024-02-29' },
    'same_period_last_year',
    { from: '2023-02-28', to: '2023-02-28' },
  ],
  [
    { from: '2026-11-02', to: '2026-11-08' },
    'same_period_last_year',
    { from: '2025-11-02', to: '2025-11-08' },
  ],
])('%j is compared with its %s: %j', (period, comparison, expected) => {
  expect(periodBefore(period, comparison)).toMatchObject(expected);
});
