import { useContext } from 'preact/hooks';
import type { NamedColumn } from '../../reports/columns.ts';
import { findIn } from '../../reports/find-in.ts';
import { titleOf } from '../../reports/report.ts';
import { groupsFor, mostUsed, type ReportGroup, reportGroups } from '../../reports/reports.ts';
import { isEnough } from '../../sign-in/rights.ts';
import { VisitContext } from '../ui/context.ts';
import { type FilterForm, Filters, LinkList } from '../ui/filters.tsx';
import { hrefTo } from '../ui/links.ts';
import { reportHref } from './form.ts';

interface ListProps {
  /** The group that is shown; without it, all of a clinic's. */
  group?: ReportGroup | undefined;
  /** What is searched for. */
  q?: string | undefined;
  form: FilterForm;
  /** The columns of all reports; read for a search. */
  columns: readonly NamedColumn[];
}

/** The reports by what they are about, or those that a search finds. */
export function ReportList({ group, q, form, columns }: ListProps) {
  const { role } = useContext(VisitContext);
  const isOperator = isEnough(role, 'operator');
  const shown = (group ? [group] : groupsFor(isOperator && Boolean(q))).map((name) => ({
    ...reportGroups[name],
    found: reportGroups[name].reports.flatMap((report) => findIn(report, columns, q) ?? []),
  }));
  const used = Object.entries(mostUsed).map(([name, path]) => ({ name, href: hrefTo(`/reports/${path}`) }));
  const isEmpty = shown.every(({ found }) => found.length === 0);
  return (
    <>
      {!group && !q && <LinkList label="Most used" links={used} />}
      <Filters action={hrefTo('/reports')} {...form} submit="Search" />
      {isEmpty && (
        <p class="empty">
          No report has all of these words. Try one word, such as <q>paid</q> or <q>doctor</q>.
        </p>
      )}
      {shown.map(
        ({ title, found }) =>
          found.length > 0 && (
            <section key={title}>
              <h2>{title}</h2>
              <ul class="reports">
                {found.map(({ report, matches }) => (
                  <li key={report.view}>
                    <a href={reportHref(report.view)}>{titleOf(report)}</a>
                    <p>{report.line}</p>
                    {matches.length > 0 && <p>Columns: {matches.join(', ')}</p>}
                  </li>
                ))}
              </ul>
            </section>
          ),
      )}
      {!group && isOperator && (
        <p>
          <a href={hrefTo('/reports', { group: 'operations' })}>Reports about the receiver itself</a>
        </p>
      )}
    </>
  );
}
