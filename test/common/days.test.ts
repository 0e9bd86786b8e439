import { addDays, addMonths, daysBetween, monthStart } from '../../src/common/days.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';

const database = useReceiverDatabase();

it('days are added and compared as PostgreSQL does', async () => {
  const days = await database.rows(`
    select day::text, (day + n)::text as later, date_trunc('month', day + make_interval(months => n))::date::text as months_later,
           date_trunc('month', day::timestamp)::date::text as month, n
    from (
      select date '1900-01-01' + i * 800 as day, i * 7919 % 2000 - 1000 as n from generate_series(1, 500) i
      union all values (date '1900-02-28', 1), ('2999-12-31', -1), ('2028-02-29', 12)
    ) chosen`);
  for (const { day, later, months_later, month, n } of days as Record<string, never>[]) {
    expect([addDays(day!, n!), addMonths(day!, n!), monthStart(day!)]).toEqual([later, months_later, month]);
    expect(daysBetween(day!, later!)).toBe(n);
  }
});
