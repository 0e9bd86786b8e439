import type { BlockedCause } from '../store/blocked-deliveries.ts';
import { defineCheck } from './problem.ts';

/** What is applied within seconds is no problem. */
const shortS = 10;

const waitFor: Record<BlockedCause, string> = {
  locked: 'wait for rows that somebody locks',
  damaged: 'wait for a damaged page',
  'state not writable': 'wait for a state that cannot be written',
};

/** Deliveries that are set aside: a problem for each cause. */
export const setAside = defineCheck<{
  family: string;
  cause: BlockedCause;
  detail: string | null;
  count: number;
  since: Date;
}>(
  `
select family, cause, detail, count(*)::int as count, min(since) as since from (
  select family, cause, detail, since from blocked_deliveries
  union all
  select family, 'damaged', detail, received_at from spilled_deliveries
) waiting
where since < now() - interval '${shortS} s' group by family, cause, detail order by family, cause, detail limit 20`,
  ({ family, cause, detail, count, since }) => {
    // Without the figures and what to do.
    const holder = detail?.split(/ \(|[.:] /, 1)[0] ?? cause;
    return {
      kind: 'set aside',
      subject: `${family}: ${holder}`,
      status: 'fail',
      title: `Deliveries of the family ${family} ${waitFor[cause]}`,
      since,
      detail: `${count}: ${detail ?? 'by whom is not known yet'}. They are applied by themselves afterwards; all others are applied meanwhile`,
    };
  },
);
