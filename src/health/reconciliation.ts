import { defineCheck } from './problem.ts';

interface Row {
  kind: 'gaps' | 'not reconciled';
  missing: number;
  differing: number;
  filled: number;
  /** Days since the last pass that was completed, or since the first that was begun. */
  days: number;
}

/** Gaps that the reconciliation found in the last day, and an overdue reconciliation. One that never ran is no problem. */
export const reconciliation = defineCheck<Row>(
  `
select 'gaps' as kind, count(*) filter (where compared_with is null)::int as missing,
  count(compared_with)::int as differing, count(a.id)::int as filled, 0 as days
from reconciled_deliveries m left join applied_deliveries a using (id)
where m.found_at > now() - interval '1 day' and m.family = 'appointment'
having count(*) > 0
union all
select 'not reconciled', 0, 0, 0, floor(extract(epoch from now() - last) / 86400)::int
from (
  -- What was completed in the future was not: the clock was ahead.
  select coalesce(max(ended_at) filter (where ended_at <= now()), min(started_at)) as last, max(attempted_at) as attempted
  from reconciliations
) passes
where attempted > now() - interval '1 day' and last < now() - interval '2 days'`,
  ({ kind, missing, differing, filled, days }) => {
    const common = { kind, subject: '', status: 'warn' } as const;
    if (kind === 'gaps') {
      const found = `${missing} appointments were missing and ${differing} differed, of which ${filled} are filled`;
      const advice =
        'Callbacks do not arrive: is the subscription there, and does its address lead here? Receipts of that time ' +
        'cannot be compared: ask the platform to resend them';
      return {
        ...common,
        title: 'The reconciliation has found gaps',
        detail: `In the last day, ${found}. ${advice}`,
      };
    }
    const detail = `None was completed for ${days} days. The log of the workers says why; \`receiver reconcile\` runs one`;
    return { ...common, title: 'The reconciliation is overdue', detail };
  },
);
