import type { ListedAttempt } from '../../destinations/attempt-table.ts';
import type { ListedDestination } from '../../destinations/destination-table.ts';
import { type ListedWaiting, shownId } from '../../destinations/waiting-table.ts';
import { PostButton } from '../ui/forms.tsx';
import { hrefTo, words } from '../ui/links.ts';
import { Table } from '../ui/table.tsx';
import { formatCount, Moment, Named, Nothing } from '../ui/values.tsx';

interface PageProps {
  destinations: readonly ListedDestination[];
  /** The one whose attempts are shown. */
  chosen: ListedDestination | undefined;
  attempts: readonly ListedAttempt[];
  waiting: readonly ListedWaiting[];
}

const stateOf = ({ state, reason, failingSince }: ListedDestination) =>
  reason ? `${state}: ${reason}` : state === 'active' && failingSince ? 'active, failing' : state;

const Act = ({ id, command, children }: { id: string; command: string; children: string }) => (
  <PostButton action="/console/destinations" values={{ id, command }} kind="second">
    {children}
  </PostButton>
);

export function DestinationsPage({ destinations, chosen, attempts, waiting }: PageProps) {
  return (
    <>
      <p>
        Where changes of records are sent to, signed. <code>receiver destinations</code> adds, tests and
        removes them.
      </p>
      <Table
        label="Destinations"
        rows={destinations}
        empty="Changes are sent nowhere."
        columns={[
          {
            head: 'Destination',
            cell: ({ id, url }) => (
              <>
                <a href={hrefTo('/destinations', { id })}>{new URL(url).host}</a>{' '}
                <span class="hint">{id}</span>
              </>
            ),
            wide: true,
          },
          {
            head: 'Changes of',
            cell: ({ families, isPublic }) => families.map(words).join(', ') + (isPublic ? '; public' : ''),
            wide: true,
          },
          { head: 'State', cell: stateOf },
          { head: 'Accepted', cell: ({ delivered }) => formatCount(delivered), numeric: true },
          {
            head: 'Last',
            cell: ({ deliveredAt }) => (deliveredAt ? <Moment at={deliveredAt} /> : <Nothing />),
          },
          { head: 'Waiting', cell: ({ waiting, parked }) => formatCount(waiting - parked), numeric: true },
          { head: 'Given up', cell: ({ parked }) => formatCount(parked), numeric: true },
          {
            head: 'Actions',
            cell: ({ id, state, parked }) => (
              <>
                {state === 'active' ? (
                  <Act {...{ id }} command="pause" children="Pause" />
                ) : (
                  <Act {...{ id }} command="resume" children="Resume" />
                )}
                {parked > 0 && <Act {...{ id }} command="redrive" children="Send again" />}
              </>
            ),
          },
        ]}
      />
      {chosen && (
        <>
          <h2>Records of {chosen.id} that wait</h2>
          <Table
            label="Records whose last change was not accepted"
            rows={waiting}
            empty="No record waits."
            columns={[
              { head: 'Family', cell: ({ family }) => words(family) },
              { head: 'Business', cell: ({ businessId }) => <Named kind="business" id={businessId} /> },
              { head: 'Record', cell: (record) => shownId(record) },
              { head: 'Attempts', cell: ({ attempts }) => attempts, numeric: true },
              { head: 'Last answer', cell: ({ outcome }) => outcome },
              { head: 'Since', cell: ({ failedAt }) => <Moment at={failedAt} /> },
              {
                head: 'Next attempt',
                cell: ({ parkedAt, nextAt }) => (parkedAt ? 'given up' : <Moment at={nextAt} />),
              },
            ]}
          />
          <h2>Last attempts of {chosen.id}</h2>
          <Table
            label="Attempts, last first"
            rows={attempts}
            empty="Nothing was sent."
            columns={[
              { head: 'At', cell: ({ at }) => <Moment at={at} /> },
              { head: 'Type', cell: ({ type }) => type },
              { head: 'Answer', cell: ({ outcome }) => outcome },
              { head: 'Milliseconds', cell: ({ ms }) => formatCount(ms), numeric: true },
              { head: 'Its beginning', cell: ({ answer }) => answer || <Nothing />, wide: true },
            ]}
          />
        </>
      )}
    </>
  );
}
