import { words } from '../../common/words.ts';
import { Filters, LinkList } from '../ui/filters.tsx';
import { type AskedForm, reportHref } from './form.ts';
import { daysOf, type RangeName, ranges, rangesToCome } from './ranges.ts';

/** The days as links, and the other filters. */
export function ReportFilters({ report, filters, entered, faults, fields, filter, range }: AskedForm) {
  const address = reportHref(report.view);
  const names = (Object.keys(ranges) as RangeName[]).filter(
    (name) => report.hasDaysToCome || !rangesToCome.includes(name),
  );
  const links = names.map((name) => ({
    name: name === 'all' ? 'all days' : words(name),
    href: reportHref(report.view, { ...entered, from: '', to: '', page: '', range: name }),
    current: name === range,
  }));
  return (
    <Filters
      action={address}
      {...{ fields, entered, faults }}
      hidden={{ sort: entered.sort, range: entered.range, columns: entered.columns }}
      folded
    >
      {filters.from && (
        <LinkList label="Days" links={links}>
          {filter.from && filter.to && <span>{daysOf(filter)}</span>}
        </LinkList>
      )}
    </Filters>
  );
}
