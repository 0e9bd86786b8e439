import { defineCheck } from './problem.ts';

/** What the last daily comparison of the platform's subscriptions found. Without a comparison for some days, nothing is known. */
export const subscriptions = defineCheck<{ subject: string; title: string; detail: string; at: Date }>(
  `
select coalesce(f->>'subject', '') as subject, f->>'title' as title, f->>'detail' as detail, checked_at as at
from platform_checks, jsonb_array_elements(findings) as f
where name = 'subscriptions' and checked_at > now() - interval '3 days'
limit 20`,
  ({ subject, title, detail, at }) => ({
    kind: 'subscriptions',
    subject: `${subject || title}`,
    status: 'warn',
    title,
    detail: `${detail}. Compared at ${at.toISOString()}; receiver doctor compares now`,
  }),
);
