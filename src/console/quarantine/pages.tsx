import { quarantineReasons } from '../../store/tables.ts';
import { ByFilter } from '../problems/pages.tsx';
import type { FormField } from '../ui/forms.tsx';
import { words } from '../ui/links.ts';
import { PageLinks, Table } from '../ui/table.tsx';
import { formatCount, formatCountOf, formatTimes, IdLink, Named, Nothing } from '../ui/values.tsx';
import type { QuarantineLine } from './queries.ts';
import { previewBodies } from './replay-bodies.ts';

interface BodiesProps {
  lines: readonly QuarantineLine[];
  older: string | false;
  /** Whether the lines are not all. */
  isNarrowed: boolean;
}

export function BodiesPage({ lines, older, isNarrowed }: BodiesProps) {
  return (
    <>
      {isNarrowed && (
        <p>
          <a href="/console/quarantine">Show all</a>
        </p>
      )}
      <Table
        label="Rejected bodies, last received first"
        rows={lines}
        empty="No rejected bodies."
        columns={[
          {
            head: 'Last received',
            cell: (line) => <IdLink to="quarantine" id={line.id} at={line.last_received_at} />,
          },
          { head: 'Reason', cell: ({ reason }) => words(reason) },
          { head: 'Business', cell: ({ business }) => <Named kind="business" id={business} /> },
          { head: 'Received', cell: ({ count }) => formatTimes(count), numeric: true },
          { head: 'Bytes', cell: ({ bytes }) => formatCount(bytes), numeric: true },
          { head: 'Notes', cell: ({ notes }) => notes ?? <Nothing /> },
        ]}
      />
      <PageLinks older={older} />
      {lines.length > 0 && (
        <ByFilter action={`/console${previewBodies}`} fields={filter} submit="Preview …" />
      )}
    </>
  );
}

const filter: readonly FormField[] = [
  { name: 'action', label: 'Action', kind: 'choice', options: ['replay', 'drop'], any: false },
  { name: 'reason', label: 'Reason', kind: 'choice', options: quarantineReasons },
  { name: 'since', label: 'Last received from', kind: 'datetime-local' },
  { name: 'until', label: 'Last received before', kind: 'datetime-local' },
  { name: 'all', label: 'Select all if no filter is set', kind: 'choice', options: ['yes'], any: 'no' },
];

/** A number of rejected bodies. */
export const bodies = (count: number) => formatCountOf(count, ['body', 'bodies']);
