import { hrefTo, useVisit } from '../ui/context.ts';
import { LinkList } from '../ui/filters.tsx';
import { reportHref } from './form.ts';
import { groupsFor, mostUsed, type ReportGroup, reportGroups } from './lists.ts';
import { titleOf } from './report.ts';

/** The reports by what they are about. @param group the one that is shown; without it, all of a clinic's */
export function ReportList({ group }: { group?: ReportGroup | undefined }) {
  const { roles } = useVisit();
  const shown = (group ? [group] : groupsFor(false)).map((name) => reportGroups[name]);
  const used = Object.entries(mostUsed).map(([name, path]) => ({ name, href: hrefTo(`/reports/${path}`) }));
  return (
    <>
      {!group && <LinkList label="Most used" links={used} />}
      {shown.map(({ title, reports }) => (
        <section key={title}>
          <h2>{title}</h2>
          <ul class="reports">
            {reports.map((report) => (
              <li key={report.view}>
                <a href={reportHref(report.view)}>{titleOf(report)}</a>
                <p>{report.line}</p>
              </li>
            ))}
          </ul>
        </section>
      ))}
      {!group && roles.includes('operator') && (
        <p>
          <a href={hrefTo('/reports', { group: 'operations' })}>Reports about the receiver itself</a>
        </p>
      )}
    </>
  );
}
