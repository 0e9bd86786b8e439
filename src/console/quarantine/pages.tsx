import { quarantineReasons } from '../../store/tables.ts';
import { useMayPost } from '../ui/context.ts';
import { EntryForm, type FormField, PostButton } from '../ui/forms.tsx';
import { hrefTo, words } from '../ui/links.ts';
import { type Column, PageLinks, Table } from '../ui/table.tsx';
import { formatCount, formatTimes, IdLink, Moment, Named, Nothing } from '../ui/values.tsx';
import { droppedDays, groupedBodies, type Quarantine, type QuarantineGroup } from './queries.ts';

const preview = '/console/quarantine/preview';

interface QuarantineProps extends Quarantine {
  older: string | false;
  /** Whether the lines are not all. */
  isNarrowed: boolean;
}

export function QuarantinePage(props: QuarantineProps) {
  const { groups, lines, older, isNarrowed, dropped, total } = props;
  const mayAct = useMayPost(preview);
  return (
    <>
      <p>
        Rejected callbacks: they passed the access checks, but could not be accepted. Once the cause is fixed,
        replay them; drop those that are not needed.
      </p>
      <Dropped dropped={dropped} />
      {total > groupedBodies && (
        <p class="note">
          Counted are the {formatCount(groupedBodies)} bodies last received, of {formatCount(total)}.
        </p>
      )}
      <Table
        label="Quarantine by reason and errors"
        rows={groups}
        empty="The quarantine is empty."
        columns={[
          { head: 'Reason', cell: ({ reason }) => words(reason) },
          { head: 'Errors', cell: ({ faults }) => <FaultList faults={faults} />, wide: true },
          {
            head: 'Bodies',
            cell: ({ reason, key, bodies }) => (
              <a href={hrefTo('/quarantine', { reason, faults: key })}>{formatCount(bodies)}</a>
            ),
            numeric: true,
          },
          { head: 'Received', cell: ({ times }) => formatTimes(times), numeric: true },
          { head: 'Last received', cell: ({ last }) => <Moment at={last} /> },
          ...(mayAct ? [actions] : []),
        ]}
      />
      {mayAct && groups.length > 0 && (
        <details>
          <summary>Replay or drop by filter</summary>
          <EntryForm action={preview} fields={filter} submit="Preview …" />
        </details>
      )}
      <h2>{isNarrowed ? 'Rejected bodies that match' : 'Rejected bodies'}</h2>
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
          { head: 'Expected family', cell: ({ family }) => (family ? words(family) : <Nothing />) },
          { head: 'Business', cell: ({ business }) => <Named kind="business" id={business} /> },
          { head: 'Reason', cell: ({ reason }) => words(reason) },
          { head: 'Received', cell: ({ count }) => formatTimes(count), numeric: true },
          { head: 'Bytes', cell: ({ bytes }) => formatCount(bytes), numeric: true },
          { head: 'Notes', cell: ({ notes }) => notes ?? <Nothing /> },
        ]}
      />
      <PageLinks older={older} />
    </>
  );
}

function Dropped({ dropped }: Pick<Quarantine, 'dropped'>) {
  if (dropped.length === 0) return null;
  const reasons = dropped.map(({ reason, bodies }) => `${words(reason)}: ${formatCount(bodies)}`).join(', ');
  const last = new Date(Math.max(...dropped.map((one) => one.last.getTime())));
  return (
    <section class="warning">
      <h2>Rejected bodies were dropped</h2>
      <p>
        The quarantine was full, and its oldest bodies were deleted before they were replayed. In the last{' '}
        {droppedDays} days: {reasons}; the last one <Moment at={last} />. Unless the sender resends them, they
        are lost. Replay or drop what is here, or raise <code>QUARANTINE_LIMIT</code>.
      </p>
    </section>
  );
}

export function FaultList({ faults }: { faults: readonly { path: string; message: string }[] }) {
  if (faults.length === 0) return <Nothing />;
  const shown = faults.slice(0, 5);
  return (
    <>
      {shown.map(({ path, message }) => (
        <div key={path + message}>
          {path && <code>{path}</code>} {message}
        </div>
      ))}
      {faults.length > shown.length && <div>… and {faults.length - shown.length} more</div>}
    </>
  );
}

const actions: Column<QuarantineGroup> = {
  head: 'Actions',
  cell: ({ reason, key }) => <Actions values={{ reason, faults: key }} small />,
};

export function Actions({ values, small }: { values: Record<string, string>; small?: boolean }) {
  const size = small ? 'small ' : '';
  return (
    <>
      <PostButton action={preview} values={{ ...values, action: 'replay' }} kind={`${size}second`}>
        Replay …
      </PostButton>
      <PostButton action={preview} values={{ ...values, action: 'drop' }} kind={`${size}danger`}>
        Drop …
      </PostButton>
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
