import { quarantineReasons } from '../../store/tables.ts';
import { Choice, Field, PostForm, Submit } from '../ui/forms.tsx';
import { Table } from '../ui/table.tsx';
import { formatCount, Moment, Nothing } from '../ui/values.tsx';
import type { QuarantineGroup, QuarantineLine } from './rows.ts';

const preview = '/console/quarantine/preview';

export function BodyLink({ id }: { id: string }) {
  return (
    <a class="id" href={`/console/quarantine/${id}`}>
      {id}
    </a>
  );
}

interface QuarantineProps {
  groups: readonly QuarantineGroup[];
  lines: readonly QuarantineLine[];
  /** The address of the next page. */
  older: string | undefined;
  /** Whether the lines are those of one group. */
  isNarrowed: boolean;
}

export function QuarantinePage({ groups, lines, older, isNarrowed }: QuarantineProps) {
  return (
    <>
      <p>
        These came in through the door but did not fit, and were refused. After a fix they can be taken in, or
        dropped.
      </p>
      <Groups groups={groups} />
      {groups.length > 0 && <ByFilter />}
      <h2>{isNarrowed ? 'The bodies of one group' : 'Bodies'}</h2>
      {isNarrowed && (
        <p>
          <a href="/console/quarantine">Show all</a>
        </p>
      )}
      <Lines lines={lines} />
      {older && (
        <nav class="pages" aria-label="Pages">
          <a href={older}>Older →</a>
        </nav>
      )}
    </>
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

function Groups({ groups }: { groups: readonly QuarantineGroup[] }) {
  return (
    <Table
      label="What lies in quarantine by what is wrong with it"
      rows={groups}
      empty="Nothing lies in quarantine."
      columns={[
        { head: 'Reason', cell: ({ reason }) => reason.replaceAll('_', ' ') },
        { head: 'Faults', cell: ({ faults }) => <FaultList faults={faults} />, wide: true },
        {
          head: 'Bodies',
          cell: ({ reason, key, bodies }) => (
            <a href={`/console/quarantine?${new URLSearchParams({ reason, faults: key })}`}>
              {formatCount(bodies)}
            </a>
          ),
          numeric: true,
        },
        { head: 'Times received', cell: ({ times }) => formatCount(times), numeric: true },
        { head: 'Last', cell: ({ last }) => <Moment at={last} /> },
        { head: 'Do', cell: ({ reason, key }) => <Choices values={{ reason, faults: key }} small /> },
      ]}
    />
  );
}

/** What can be done with what is in quarantine; the next page shows what that would come to. */
export function Choices({ values, small }: { values: Record<string, string | undefined>; small?: boolean }) {
  const size = small ? 'small ' : '';
  return (
    <>
      <PostForm action={preview} values={{ ...values, action: 'replay' }}>
        <Submit kind={`${size}second`}>Take in …</Submit>
      </PostForm>
      <PostForm action={preview} values={{ ...values, action: 'drop' }}>
        <Submit kind={`${size}danger`}>Drop …</Submit>
      </PostForm>
    </>
  );
}

function ByFilter() {
  return (
    <details class="card">
      <summary>Take in or drop those that match</summary>
      <PostForm action={preview}>
        <div class="fields">
          <div class="field">
            <label for="field-action">What to do</label>
            <select id="field-action" name="action">
              <option value="replay">take in</option>
              <option value="drop">drop</option>
            </select>
          </div>
          <Choice label="Reason" name="reason" options={quarantineReasons} />
          <Field label="Last arrived from" name="since" type="datetime-local" />
          <Field label="Last arrived before" name="until" type="datetime-local" />
          <Choice label="Where nothing is chosen" name="all" options={['yes']} any="do nothing" />
        </div>
        <div class="actions">
          <Submit>See what would happen …</Submit>
        </div>
      </PostForm>
    </details>
  );
}

function Lines({ lines }: { lines: readonly QuarantineLine[] }) {
  return (
    <Table
      label="Bodies in quarantine, the last to arrive first"
      rows={lines}
      empty="None."
      columns={[
        {
          head: 'Last arrived',
          cell: ({ id, last_received_at }) => (
            <a href={`/console/quarantine/${id}`}>
              <Moment at={last_received_at} />
            </a>
          ),
        },
        { head: 'Came in for', cell: ({ family }) => family?.replaceAll('_', ' ') ?? <Nothing /> },
        { head: 'Business', cell: ({ business }) => business ?? <Nothing /> },
        { head: 'Reason', cell: ({ reason }) => reason.replaceAll('_', ' ') },
        { head: 'Times', cell: ({ times }) => formatCount(times), numeric: true },
        { head: 'Bytes', cell: ({ bytes }) => formatCount(bytes), numeric: true },
      ]}
    />
  );
}
