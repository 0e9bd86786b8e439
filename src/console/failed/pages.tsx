import type { ReplayOutcome } from '../../apply/replay.ts';
import type { Family } from '../../families/index.ts';
import type { Cause } from '../../store/refusals.ts';
import { useMayPost } from '../ui/context.ts';
import { Choice, Field, PostButton, PostForm, Submit } from '../ui/forms.tsx';
import { Outcome } from '../ui/outcome.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { formatCount, IdLink, Moment } from '../ui/values.tsx';
import { CauseText, sameCause } from './cause.tsx';
import type { FailedGroup } from './queries.ts';

const preview = '/console/replay/preview';

interface FailedProps {
  groups: readonly (FailedGroup & { cause: Cause })[];
  families: readonly Family[];
}

export function FailedPage({ groups, families }: FailedProps) {
  const mayReplay = useMayPost(preview);
  return (
    <>
      <p>
        PostgreSQL rejected the data of these deliveries. They were acknowledged, so the sender does not
        resend them: they stay here until a replay succeeds, and cannot be dropped.
      </p>
      <Table
        label="Failed deliveries by error"
        cards
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
      {mayReplay && groups.length > 0 && <ReplayForm families={families} />}
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

function ReplayForm({ families }: { families: readonly Family[] }) {
  return (
    <section class="card" aria-labelledby="by-filter">
      <h2 id="by-filter">Replay by filter</h2>
      <p class="hint">
        Empty fields are ignored. The next page is a preview; nothing is changed before you confirm.
      </p>
      <PostForm action={preview}>
        <div class="fields">
          <Choice label="Family" name="family" options={families.map(({ name }) => name)} />
          <Choice label="Event" name="event" options={families.flatMap(({ events }) => events)} />
          <Field label="Business" name="businessId" />
          <Field label="Received from" name="since" type="datetime-local" />
          <Field label="Received before" name="until" type="datetime-local" />
        </div>
        <div class="actions">
          <Submit>Preview replay …</Submit>
        </div>
      </PostForm>
    </section>
  );
}

interface ReplayProps {
  /** `matching`: how many deliveries match the filter. */
  outcome: ReplayOutcome & { matching: number };
  /** The form's fields, to be sent again. */
  values: Record<string, string>;
}

/** What a replay would do. */
export function ConfirmReplay({ outcome, values }: ReplayProps) {
  const { matching, applied, changed, failed, errors } = outcome;
  const tried = applied + failed;
  const isAgain = values.status === 'applied';
  return (
    <>
      <FilterLine values={values} />
      <p>
        {formatCount(matching)} {matching === 1 ? 'delivery matches' : 'deliveries match'}
        {matching > tried && tried > 0 && `; one replay covers the first ${formatCount(tried)}`}. The replay
        was run and rolled back; nothing has changed:
      </p>
      <Outcome
        figures={{
          'Would be applied': applied,
          'Rows that would change': changed,
          'Would fail again': failed,
        }}
        messages={errors}
        label="Errors of those that fail again"
        section="deliveries"
      />
      <div class="actions">
        {applied > 0 && (changed > 0 || !isAgain) && (
          <PostButton action="/console/replay" values={values}>
            Replay {formatCount(tried)} {tried === 1 ? 'delivery' : 'deliveries'}
          </PostButton>
        )}
        <a href="/console/failed">{applied > 0 ? 'Cancel' : 'Back to failed deliveries'}</a>
      </div>
      {tried > 0 && applied === 0 && (
        <p>A replay would apply nothing: every delivery would fail again. Remove the cause first.</p>
      )}
      {applied > 0 && changed === 0 && (
        <p>
          No row would change: the tables already hold these versions, or newer ones.{' '}
          {isAgain ? 'So there is nothing to replay.' : 'The deliveries would no longer be failed ones.'}
        </p>
      )}
    </>
  );
}

/** What a replay did. */
export function ReplayDone({ outcome, values }: ReplayProps) {
  const { matching, applied, changed, failed, errors } = outcome;
  const left = matching - applied - failed;
  return (
    <>
      <Outcome
        figures={{ Applied: applied, 'Rows changed': changed, 'Failed again': failed }}
        messages={errors}
        label="Errors of those that fail again"
        section="deliveries"
      />
      <div class="actions">
        {left > 0 && (
          <PostButton action={preview} values={values}>
            Replay the other {formatCount(left)} …
          </PostButton>
        )}
        {values.id && (
          <span>
            Delivery <IdLink to="deliveries" id={values.id} />
          </span>
        )}
        <a href="/console/failed">Back to failed deliveries</a>
      </div>
    </>
  );
}

const labels: Record<string, string> = {
  businessId: 'business',
  id: 'delivery',
  since: 'received from',
  until: 'received before',
};

function FilterLine({ values }: Pick<ReplayProps, 'values'>) {
  const given = Object.entries(values).map(([name, value]) => `${labels[name] ?? name} ${value}`);
  return <p>Filter: {given.join(', ') || 'all failed deliveries'}.</p>;
}
