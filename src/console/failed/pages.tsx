import { sql } from 'kysely';
import type { ReplayOutcome } from '../../apply/replay.ts';
import type { Cause } from '../../store/refusals.ts';
import { useMayPost } from '../ui/context.ts';
import { EntryForm, type FormField, PostButton } from '../ui/forms.tsx';
import { hrefTo } from '../ui/links.ts';
import { Outcome, type ReplayProps } from '../ui/outcome.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { formatCount, formatCountOf, IdLink, Moment } from '../ui/values.tsx';

interface FailedGroup {
  family: string;
  event: string;
  error: string;
  deliveries: number;
  first: Date;
  last: Date;
  /** How many have a note, or were marked as seen. */
  seen: number;
}

/** Failed deliveries by error, the most frequent first. */
export const failedGroups = sql<FailedGroup>`
  select family, event, coalesce(error, '') as error, count(*)::int as deliveries,
         min(received_at) as first, max(received_at) as last,
         count(*) filter (where exists (select from notes n where n.subject_id = deliveries.id))::int as seen
  from deliveries where status = 'failed'
  group by family, event, error
  order by deliveries desc, last desc limit 200`;

const preview = '/console/replay/preview';

interface FailedProps {
  groups: readonly (FailedGroup & { cause: Cause })[];
  /** Those of a filter for a replay. */
  fields: readonly FormField[];
}

export function FailedPage({ groups, fields }: FailedProps) {
  const mayReplay = useMayPost(preview);
  return (
    <>
      <p>
        PostgreSQL rejected the data of these deliveries. They were acknowledged, so the sender does not
        resend them: they stay here until a replay succeeds, and cannot be dropped.
      </p>
      <Table
        label="Failed deliveries by error"
        rows={groups}
        empty="No failed deliveries."
        columns={[
          { head: 'Event', cell: ({ event }) => event },
          { head: 'Cause', cell: ({ cause }) => <CauseText cause={cause} />, wide: true },
          {
            head: 'Deliveries',
            cell: ({ event, error, deliveries }) => (
              <a href={sameCause(event, error)}>{formatCount(deliveries)}</a>
            ),
            numeric: true,
          },
          { head: 'Seen', cell: ({ seen }) => formatCount(seen), numeric: true },
          { head: 'First received', cell: ({ first }) => <Moment at={first} /> },
          { head: 'Last received', cell: ({ last }) => <Moment at={last} /> },
          ...(mayReplay ? [actions] : []),
        ]}
      />
      {groups.length > 0 && (
        <EntryForm
          action={preview}
          title="Replay by filter"
          hint="Empty fields are ignored. The next page is a preview; nothing is changed before you confirm."
          fields={fields}
          submit="Preview replay …"
        />
      )}
    </>
  );
}

const actions: Column<FailedGroup> = {
  head: 'Actions',
  cell: ({ family, event, error }) => (
    <PostButton action={preview} values={{ family, event, error }} kind="small second">
      Replay …
    </PostButton>
  ),
};

export const sameCause = (event: string, error: string) =>
  hrefTo('/deliveries', { status: 'failed', event, error });

/** Why a delivery failed, and what to do. */
export function CauseText({ cause }: { cause: Cause }) {
  const { error, meaning, action, fields, definition } = cause;
  if (!meaning) return <>{error}</>;
  return (
    <>
      <strong>{meaning}</strong> {action}
      <br />
      {fields && (
        <>
          Field: <code>{fields}</code>.{' '}
        </>
      )}
      {definition && (
        <>
          Constraint: <code>{definition}</code>.{' '}
        </>
      )}
      <span class="hint">{error}</span>
    </>
  );
}

const labels: Record<string, string> = {
  id: 'delivery',
  since: 'received from',
  until: 'received before',
};

export function ConfirmReplay({ outcome, values }: ReplayProps<ReplayOutcome>) {
  const { matching, applied, changed, failed, errors } = outcome;
  const tried = applied + failed;
  const isAgain = values.status === 'applied';
  const canReplay = applied > 0 && (changed > 0 || !isAgain);
  const filter = Object.entries(values).map(([name, value]) => `${labels[name] ?? name} ${value}`);
  const text = `Replay ${formatCountOf(tried, ['delivery', 'deliveries'])}`;
  return (
    <>
      <p>Filter: {filter.join(', ') || 'all failed deliveries'}.</p>
      <Outcome
        section="failed"
        isPreview
        covers={{ matching, tried }}
        intro="The replay was run and rolled back; nothing has changed:"
        figures={{
          'Would be applied': applied,
          'Rows that would change': changed,
          'Would fail again': failed,
        }}
        messages={errors}
        next={canReplay && { action: '/console/replay', values, text }}
      >
        {tried > 0 && applied === 0 && (
          <p>A replay would apply nothing: every delivery would fail again. Remove the cause first.</p>
        )}
        {applied > 0 && changed === 0 && (
          <p>
            No row would change: the tables already hold these versions, or newer ones.{' '}
            {isAgain ? 'So there is nothing to replay.' : 'The deliveries would no longer be failed ones.'}
          </p>
        )}
      </Outcome>
    </>
  );
}

export function ReplayDone({ outcome, values }: ReplayProps<ReplayOutcome>) {
  const { matching, applied, changed, failed, errors } = outcome;
  const left = matching - applied - failed;
  return (
    <Outcome
      section="failed"
      figures={{ Applied: applied, 'Rows changed': changed, 'Failed again': failed }}
      messages={errors}
      next={left > 0 && { action: preview, values, text: `Replay the other ${formatCount(left)} …` }}
    >
      {values.id && (
        <p>
          Delivery <IdLink to="deliveries" id={values.id} />
        </p>
      )}
    </Outcome>
  );
}
