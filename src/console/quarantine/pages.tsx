import type { listQuarantine } from '../../intake/list-quarantine.ts';
import { type FilterForm, Filters } from '../ui/filters.tsx';
import { PostButton } from '../ui/forms.tsx';
import { hrefTo, words } from '../ui/links.ts';
import { PageLinks, Table } from '../ui/table.tsx';
import { formatCount, formatTimes, IdLink, Named } from '../ui/values.tsx';

interface BodiesProps {
  /** Undefined: the filter is invalid. */
  listed: Awaited<ReturnType<typeof listQuarantine>> | undefined;
  filter: FilterForm;
}

export function BodiesPage({ listed, filter }: BodiesProps) {
  const { entered } = filter;
  const { rows = [], more } = listed ?? {};
  const isNarrowed = Object.keys(entered).length > 0;
  return (
    <>
      <Filters action="/console/quarantine" {...filter} hidden={{ faults: entered.faults }} folded />
      {rows.length > 0 && (
        <div class="actions">
          <BodyActions
            values={isNarrowed ? entered : { all: 'yes' }}
            which={isNarrowed ? ' these' : ' all'}
          />
        </div>
      )}
      <Table
        label="Rejected bodies, last received first"
        rows={rows}
        empty={listed && 'No rejected bodies.'}
        columns={[
          {
            head: 'Last received',
            cell: (line) => <IdLink to="quarantine" id={line.id} at={line.last_received_at} />,
          },
          { head: 'Reason', cell: ({ reason }) => words(reason) },
          { head: 'Business', cell: ({ business_id }) => <Named kind="business" id={business_id} /> },
          { head: 'Received', cell: ({ count }) => formatTimes(count), numeric: true },
          { head: 'Bytes', cell: ({ size }) => formatCount(size), numeric: true },
        ]}
      />
      <PageLinks older={more && hrefTo('/quarantine', { ...entered, before: rows.at(-1)!.id })} />
    </>
  );
}

interface ActionsProps {
  /** Those of the form that selects the bodies. */
  values: Record<string, string>;
  which?: string;
  size?: string;
}

/** What can be done with rejected bodies, after a preview. */
export function BodyActions({ values, which = '', size = '' }: ActionsProps) {
  const button = (action: 'replay' | 'drop', kind: string) => (
    <PostButton action="/console/quarantine/preview" values={{ ...values, action }} kind={size + kind}>
      {action === 'drop' ? 'Drop' : 'Replay'}
      {which} …
    </PostButton>
  );
  return (
    <>
      {button('replay', 'second')}
      {button('drop', 'danger')}
    </>
  );
}
