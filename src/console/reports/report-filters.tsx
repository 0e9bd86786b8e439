import type { Asked } from '../../reports/queries.ts';
import { type RangeName, ranges, rangesToCome } from '../../reports/ranges.ts';
import { Filters, LinkList } from '../ui/filters.tsx';
import { words } from '../ui/links.ts';
import { formatDay } from '../ui/time.ts';
import { type ReportForm, reportHref } from './form.ts';

type FilterProps = Pick<Asked, 'report' | 'filters' | 'filter'> & ReportForm;

/** The days as links, and the other filters. */
export function ReportFilters({ report, filters, entered, faults, fields, filter, range }: FilterProps) {
  const names = (Object.keys(ranges) as RangeName[]).filter(
    (name) => report.hasDaysToCome || !rangesToCome.includes(name),
  );
  const links = names.map((name) => ({
    name: name === 'all' ? 'all days' : words(name),
    href: reportHref(report.view, { ...entered, from: '', to: '', page: '', range: name }),
    current: name === range,
  }));
  return (
    <>
      {filters.from && (
        <LinkList label="Days" links={links}>
          {filter.from && filter.to && (
            <span>
              {formatDay(filter.from)}
              {filter.to !== filter.from && ` to ${formatDay(filter.to)}`}
            </span>
          )}
        </LinkList>
      )}
      <Filters
        action={reportHref(report.view)}
        {...{ fields, entered, faults }}
        hidden={{ sort: entered.sort, range: entered.range, of: entered.of, columns: entered.columns }}
      />
    </>
  );
}
