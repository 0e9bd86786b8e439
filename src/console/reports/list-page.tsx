import { PostButton } from '../ui/forms.tsx';
import { LinkList } from '../ui/link-list.tsx';
import { Table } from '../ui/table.tsx';
import { reportHref } from './form.ts';
import { reports, shortcuts, titleOf } from './reports.ts';
import type { SavedView } from './saved-views.ts';

interface ReportListProps {
  saved: readonly SavedView[];
  /** Of the views, by name. */
  comments: ReadonlyMap<string, string>;
}

/** The pages that the user has saved, pages for what is often asked, and all reports. */
export function ReportList({ saved, comments }: ReportListProps) {
  return (
    <>
      <Table
        label="Saved pages"
        rows={saved}
        columns={[
          {
            head: 'Saved page',
            cell: ({ name, address }) => <a href={`/console${address}`}>{name}</a>,
            wide: true,
          },
          {
            head: <span class="unseen">Action</span>,
            cell: ({ name }) => (
              <PostButton action="/console/saved-views/delete" values={{ name }} kind="small second">
                Delete<span class="unseen"> {name}</span>
              </PostButton>
            ),
          },
        ]}
      />
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
