import type { Asked } from '../../reports/queries.ts';
import { ranges } from '../../reports/ranges.ts';
import { Filters, LinkList } from '../ui/filters.tsx';
import { words } from '../ui/links.ts';
import { formatDay } from '../ui/time.ts';
import { type ReportForm, reportHref } from './form.ts';

type FilterProps = Pick<Asked, 'report' | 'filters' | 'filter'> & ReportForm;

/** The days as links, and the other filters. */
export function ReportFilters({ report, filters, entered, faults, fields, filter, range }: FilterProps) {
  const links = Object.keys(ranges).map((name) => ({
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
