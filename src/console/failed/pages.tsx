import type { Family } from '../../families/index.ts';
import { Choice, Field, PostForm, Submit } from '../ui/forms.tsx';
import { Table } from '../ui/table.tsx';
import { DeliveryLink, formatCount, Moment } from '../ui/values.tsx';
import type { FailedGroup } from './groups.ts';
import { atOnce, type Outcome } from './replay.ts';

const preview = '/console/replay/preview';

export function FailedPage({
  groups,
  families,
}: {
  groups: readonly FailedGroup[];
  families: readonly Family[];
}) {
  return (
    <>
      <p>
        PostgreSQL refused the data of these. They were acknowledged, so nobody sends them again: they stay
        here until a replay succeeds, and cannot be dropped.
      </p>
      <Table
        label="Failed deliveries by what is wrong with them"
        rows={groups}
        empty="Nothing has failed."
        columns={[
          { head: 'Event', cell: ({ event }) => event },
          { head: 'Error', cell: ({ error }) => error, wide: true },
          {
            head: 'Deliveries',
            cell: (group) => <a href={listOf(group)}>{formatCount(group.deliveries)}</a>,
            numeric: true,
          },
          { head: 'First', cell: ({ first }) => <Moment at={first} /> },
          { head: 'Last', cell: ({ last }) => <Moment at={last} /> },
          {
            head: 'Do',
            cell: ({ family, event, error }) => (
              <PostForm action={preview} values={{ family, event, error }}>
                <Submit kind="small second">Replay …</Submit>
              </PostForm>
            ),
          },
        ]}
      />
      {groups.length > 0 && <ReplayForm families={families} />}
    </>
  );
}

const listOf = ({ event, error }: FailedGroup) =>
  `/console/deliveries?${new URLSearchParams({ status: 'failed', event, error })}`;

function ReplayForm({ families }: { families: readonly Family[] }) {
  return (
    <section class="card" aria-labelledby="by-filter">
      <h2 id="by-filter">Replay those that match</h2>
      <p class="hint">
        What is left empty does not narrow. The next page says what would happen; nothing does yet.
      </p>
      <PostForm action={preview}>
        <div class="fields">
          <Choice label="Family" name="family" options={families.map(({ name }) => name)} />
          <Choice label="Event" name="event" options={families.flatMap(({ events }) => events)} />
          <Field label="Business" name="businessId" />
          <Field label="Arrived from" name="since" type="datetime-local" />
          <Field label="Arrived before" name="until" type="datetime-local" />
        </div>
        <div class="actions">
          <Submit>Try it out …</Submit>
        </div>
      </PostForm>
    </section>
  );
}

interface ConfirmProps {
  outcome: Outcome;
  values: Record<string, string | undefined>;
}

/** What a replay would do, before it is done. */
export function ConfirmReplay({ outcome, values }: ConfirmProps) {
  const { matching, applied, changed, failed } = outcome;
  const tried = applied + failed;
  return (
    <>
      <Chosen values={values} />
      <p>
        {formatCount(matching)} {matching === 1 ? 'delivery matches' : 'deliveries match'}.
        {matching > tried && tried > 0 && ` At most ${formatCount(atOnce)} are replayed at once.`} This was
        tried out and rolled back:
      </p>
      <Result outcome={outcome} would />
      <div class="actions">
        {tried > 0 && (
          <PostForm action="/console/replay" values={values}>
            <Submit>
              Replay {formatCount(tried)} {tried === 1 ? 'delivery' : 'deliveries'}
            </Submit>
          </PostForm>
        )}
        <a href="/console/failed">Leave everything as it is</a>
      </div>
      {applied > 0 && changed === 0 && (
        <p class="hint">
          No row would change: newer versions of these things have arrived meanwhile, or the same.
        </p>
      )}
    </>
  );
}

/** What a replay did. */
export function ReplayDone({ outcome, values }: ConfirmProps) {
  const left = outcome.matching - outcome.applied - outcome.failed;
  return (
    <>
      <Result outcome={outcome} />
      <div class="actions">
        {left > 0 && (
          <PostForm action={preview} values={values}>
            <Submit>Go on with the other {formatCount(left)} …</Submit>
          </PostForm>
        )}
        {values.id && <DeliveryLink id={values.id} />}
        <a href="/console/failed">To what has failed</a>
      </div>
    </>
  );
}

function Result({ outcome, would = false }: { outcome: Outcome; would?: boolean }) {
  const { applied, changed, failed, errors } = outcome;
  return (
    <>
      <dl class="card">
        <dt>{would ? 'Would be applied' : 'Applied'}</dt>
        <dd>{formatCount(applied)}</dd>
        <dt>Rows that {would ? 'would change' : 'changed'}</dt>
        <dd>{formatCount(changed)}</dd>
        <dt>{would ? 'Would fail again' : 'Failed again'}</dt>
        <dd>{formatCount(failed)}</dd>
      </dl>
      {errors.length > 0 && (
        <Table
          label="Why some fail again"
          rows={errors}
          empty=""
          columns={[
            { head: 'Error', cell: ({ error }) => error, wide: true },
            { head: 'Deliveries', cell: ({ deliveries }) => formatCount(deliveries), numeric: true },
            { head: 'Such as', cell: ({ example }) => <DeliveryLink id={example} /> },
          ]}
        />
      )}
    </>
  );
}

function Chosen({ values }: { values: Record<string, string | undefined> }) {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  if (given.length === 0) return <p>Chosen: everything that failed.</p>;
  return <p>Chosen: {given.map(([name, value]) => `${name} ${value}`).join(', ')}.</p>;
}
