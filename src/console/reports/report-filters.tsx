import { daysOf, type RangeName, ranges, rangesToCome } from '../../reports/ranges.ts';
import type { Person } from '../../search/people.ts';
import { columnsOfPeople } from '../search/pages.tsx';
import { Filters, LinkList } from '../ui/filters.tsx';
import { Fields, PostForm, Submit } from '../ui/forms.tsx';
import { words } from '../ui/links.ts';
import { Table } from '../ui/table.tsx';
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
  const ofPatient = filters.patient && (
    <PostForm action={`${address}/patient`} values={entered} class="filters">
      <Fields fields={[{ name: 'who', label: 'Patient', autocomplete: 'off' }]} />
      <Submit kind="second">Find by name, phone or id</Submit>
    </PostForm>
  );
  return (
    <Filters
      action={address}
      {...{ fields, entered, faults }}
      hidden={{ sort: entered.sort, range: entered.range, columns: entered.columns }}
      folded
      further={ofPatient}
    >
      {filters.from && (
        <LinkList label="Days" links={links}>
          {filter.from && filter.to && <span>{daysOf(filter)}</span>}
        </LinkList>
      )}
    </Filters>
  );
}

/** The patients that a text may mean, to choose one. */
export function PatientChoice({
  report,
  entered,
  people,
}: Pick<AskedForm, 'report' | 'entered'> & { people: readonly Person[] }) {
  const address = reportHref(report.view);
  return (
    <>
      <Table
        label="Patients"
        rows={people}
        empty="Nobody was found. Enter a word of the name, the last four digits of the phone number, or the id."
        columns={columnsOfPeople(`${address}/personal`, 'Show the rows', entered)}
      />
      <p>
        <a href={reportHref(report.view, entered)}>All patients</a>
      </p>
    </>
  );
}
