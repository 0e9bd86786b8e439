import { type RangeName, ranges, rangesToCome } from '../../reports/ranges.ts';
import { Filters, LinkList } from '../ui/filters.tsx';
import { Fields, PostForm, Submit } from '../ui/forms.tsx';
import { words } from '../ui/links.ts';
import { formatDay } from '../ui/time.ts';
import { type AskedForm, reportHref } from './form.ts';

/** The days as links, the other filters, and that of a patient for those who may see one. */
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
      hidden={{ sort: entered.sort, range: entered.range, of: entered.of, columns: entered.columns }}
    >
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
      {filters.patient && (
        <PostForm action={`${address}/patient`} values={entered} class="filters">
          <Fields fields={[{ name: 'who', label: 'Patient: name, phone or id', autocomplete: 'off' }]} />
          <Submit kind="second">Find the patient</Submit>
        </PostForm>
      )}
    </Filters>
  );
}
