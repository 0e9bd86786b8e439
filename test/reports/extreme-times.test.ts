import { addDays, addMonths, daysBetween, monthStart } from '../../src/common/days.ts';
import { type Family, families } from '../../src/families/index.ts';
import { filtersOf, readColumns } from '../../src/reports/columns.ts';
import { formatNames } from '../../src/reports/files/formats.ts';
import type { Report } from '../../src/reports/report.ts';
import { reports } from '../../src/reports/reports.ts';
import { useConsole } from '../console/use-console.ts';
import { type Visitor, visitAs } from '../console/visitor.ts';
import { samples } from '../support/callbacks.ts';
import { apply } from '../support/deliveries.ts';
import { post } from '../support/service.ts';

/** The ends of each type, of what callbacks can say, and of what a Date can hold, by the type of a column. */
const extremes: Record<string, readonly string[]> = {
  'timestamp with time zone': [
    '-infinity',
    '4714-11-24 00:00:00+00 BC',
    '0001-12-31 00:00:00+00 BC',
    '0001-01-01 00:00:00+00',
    '9999-12-31 23:59:59.999+00',
    '275760-09-13 00:00:00.001+00',
    '294276-12-31 23:59:59.999999+00',
    'infinity',
  ],
  bigint: ['-9223372036854775808', '9223372036854775807'],
  numeric: ['-1.7976931348623157e308', '5e-324'],
};

const listed: readonly Family[] = families;
const { database, service, visitor, logged } = useConsole();
let _privacy: Visitor;

/** Copies the row of a family for each extreme of each column, and of all columns of a type, into one of its tables. */
const copyRow = (family: Family, table: string, key = family.identifiedBy ?? 'delivery_id') => `
  do $do$
  declare
    original ${table};
    copy     ${table};
    changed  jsonb;
    number   bigint := 1000000;
  begin
    original := (
      select jsonb_populate_record(null::${table}, to_jsonb(f) || jsonb_build_object('received_at', now(), 'applied_at', now()))
      from ${family.table} f limit 1);
    for changed in
      with columns as (
        select attname as name, extreme
        from pg_attribute
        cross join lateral jsonb_array_elements_text('${JSON.stringify(extremes)}'::jsonb -> format_type(atttypid, null)) as extreme
        where attrelid = '${table}'::regclass and attnum > 0 and not attisdropped and attname <> '${key}'
      )
      select jsonb_build_object(name, extreme) from columns
      union all
      select jsonb_object_agg(name, extreme) from columns group by extreme
    loop
      number := number + 1;
      changed := changed || jsonb_build_object('${key}', number, 'delivery_id', gen_random_uuid());
      copy := jsonb_populate_record(original, changed);
      begin
        insert into ${table} values (copy.*);
      exception when not_null_violation then
        -- Infinity has no place in the order of versions.
        if isfinite(copy.event_time) then raise; end if;
      end;
    end loop;
  end
  $do$`;

/** Makes the deliveries of the copies of a family's row. */
const copyDelivery = ({ name, table, identifiedBy = 'delivery_id' }: Family) => `
  with copied as (
    insert into inbox (id, event, family, client_id, business_id, event_time, envelope, received_at)
    select made.delivery_id, event, family, i.client_id, i.business_id, made.event_time,
           jsonb_set(envelope, '{data,${identifiedBy}}', to_jsonb(made.${identifiedBy})), i.received_at
    from ${table} made join inbox i on i.family = '${name}'
    where made.delivery_id not in (select id from inbox)
    returning id, family, business_id, event_time, received_at
  )
  insert into applied_deliveries (id, family, business_id, event_time, received_at, applied_at)
  select *, received_at from copied`;

beforeAll(async () => {
  _privacy = await visitAs(service.url, 'privacy');
  // Links would make one visit of all appointments.
  const own = { data: { start_time: 1_700_000_000, prev_aids: [], next_aid: null } };
  await apply(
    database,
    listed.map(({ name }) => samples[name as keyof typeof samples](name === 'appointment' ? own : {})),
  );
  for (const family of listed) {
    await database.rows(copyRow(family, family.table));
    await database.rows(copyDelivery(family));
    if (family.versions) await database.rows(copyRow(family, family.versions));
  }
});

/** Sends requests, and returns those that the receiver could not answer, and what it logged. */
async function failing(requests: Record<string, () => Promise<Response>>): Promise<string[]> {
  const failed: string[] = [];
  const left = Object.entries(requests);
  logged.length = 0;
  const work = async () => {
    for (let next = left.shift(); next; next = left.shift()) {
      const response = await next[1]();
      const body = await response.text();
      if (response.status >= 400 || body.includes('Internal error'))
        failed.push(`${response.status} ${next[0]}`);
    }
  };
  await Promise.all([work(), work()]);
  const errors = logged.map((line) => JSON.parse(line)).filter(({ level, err }) => level >= 50 || err);
  return [...failed, ...errors.map(({ err, msg }) => `${err?.message ?? msg}`)];
}

const pages = (paths: readonly string[], by: () => Visitor = () => visitor) =>
  Object.fromEntries(paths.map((path) => [path, () => by().get(path)]));

async function addressesOf(report: Report): Promise<string[]> {
  const filters = filtersOf(report, await readColumns(database.db, report));
  const queries = ['range=all&columns=all'];
  const ofFiles = ['range=all'];
  if (filters.from) {
    queries.push('from=9999-12-31&to=9999-12-31');
  }
  return [
    ...queries.map((query) => `/reports/${report.view}?${query}`),
    ...formatNames.flatMap((format) => ofFiles.map((query) => `/reports/${report.view}/${format}?${query}`)),
  ];
}

describe('with rows of the least and the greatest value in each column', () => {
  it.each(reports.map((report) => [report.view, report] as const))(
    'report %s is shown and exported',
    async (_view, report) => {
      expect(await failing(pages(await addressesOf(report)))).toEqual([]);
    },
  );

  it('files have the values as PostgreSQL writes them', async () => {
    const csv = await visitor.read('/reports/receipts/csv?range=all');
    for (const text of ['-infinity', ' BC', '10000-01-01 ', '275760-09-13 ', ',infinity'])
      expect(csv).toContain(text);
  });
});

it.each(['0000-01-01', '2026-02-30', '294277-01-01', '4714-11-24 BC', 'infinity'])(
  'the day %s is refused with what to enter',
  async (day) => {
    const response = await visitor.get(`/reports/receipts?from=${encodeURIComponent(day)}`);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('Enter a day such as 2026-11-21.');
  },
);

it('a callback says no time after the year 9999', async () => {
  const say = async (created_at: unknown) => {
    const { status } = await post(
      `${service.url}/registered_url_for_receipt_events`,
      samples.receipt({ data: { receipt_id: 77, created_at } }),
    );
    return status;
  };
  expect(await say('9999-12-31T23:59:59Z')).toBe(200);
  expect(await say('9999-12-31T23:59:59-15:59')).toBe(422);
  expect(await say('0001-01-01T00:00:00+15:59')).toBe(422);
});

it('days are added and compared as PostgreSQL does', async () => {
  const days = await database.rows(`
    select day::text, (day + n)::text as later, (day + make_interval(months => n))::date::text as months_later,
           date_trunc('month', day::timestamp)::date::text as month, n
    from (
      select date '4600-01-01 BC' + (random() * 7000000)::int as day, (random() * 2000 - 1000)::int as n
      from generate_series(1, 500)
      union all values (date '0001-12-31 BC', 1), ('0001-01-01', -1), ('9999-12-31', 1), ('10000-02-29', 12), ('0001-02-28 BC', 1)
    ) drawn`);
  for (const { day, later, months_later, month, n } of days as Record<string, never>[]) {
    expect([addDays(day!, n!), addMonths(day!, n!), monthStart(day!)]).toEqual([later, months_later, month]);
    expect(daysBetween(day!, later!)).toBe(n);
  }
});
