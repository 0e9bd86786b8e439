import type { Person } from '../../search/people.ts';
import { PostButton } from '../ui/forms.tsx';
import { Table } from '../ui/table.tsx';
import { formatCount, Moment, Nothing } from '../ui/values.tsx';
import { type AskedForm, reportHref } from './form.ts';

/** The patients that a name or a phone number may mean. Whose rows are shown is posted, so that it is in no address. */
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
        empty="No patient was found. Enter a word of the name, the last four digits of the phone number, or the id."
        columns={[
          { head: 'Name', cell: ({ name }) => name ?? <Nothing /> },
          { head: 'Phone', cell: ({ mobile }) => mobile ?? <Nothing /> },
          { head: 'Receipts', cell: ({ receipts }) => formatCount(receipts), numeric: true },
          { head: 'Latest', cell: ({ latest }) => <Moment at={latest} /> },
          {
            head: 'Report',
            cell: ({ patient }) => (
              <PostButton action={`${address}/personal`} values={{ ...entered, patient }} kind="small second">
                Show
              </PostButton>
            ),
          },
        ]}
      />
      <p>
        <a href={reportHref(report.view, entered)}>All patients</a>
      </p>
    </>
  );
}
