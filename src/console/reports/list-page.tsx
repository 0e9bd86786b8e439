import { LinkList } from '../ui/link-list.tsx';
import { reportHref } from './form.ts';
import { reports, shortcuts, titleOf } from './reports.ts';

/**
 * Pages for what is often asked, and all reports.
 *
 * @param comments the comments on the views, by name
 */
export function ReportList({ comments }: { comments: ReadonlyMap<string, string> }) {
  return (
    <>
      <LinkList label="Often asked" links={shortcuts} />
      <p>
        These are the views of the schema <code>reporting</code>. SQL clients and BI tools can query them too.
      </p>
      <ul class="reports">
        {reports.map((report) => (
          <li key={report.view}>
            <a href={reportHref(report.view)}>{titleOf(report)}</a>
            <p>{comments.get(report.view)}</p>
          </li>
        ))}
      </ul>
    </>
  );
}
