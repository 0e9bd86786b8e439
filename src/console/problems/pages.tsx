import { useContext } from 'preact/hooks';
import { previewBodies } from '../quarantine/replay-bodies.ts';
import { RejectedTable } from '../rejections/pages.tsx';
import { useMayPost, VisitContext } from '../ui/context.ts';
import { EntryForm, type FormField, PostButton } from '../ui/forms.tsx';
import { hrefTo, words } from '../ui/links.ts';
import { formatCount, Moment } from '../ui/values.tsx';
import { CauseTable } from './cause-table.tsx';
import { CauseText, FaultList, sameCause } from './cause-text.tsx';
import { type BodyGroup, droppedDays, type Found, groupedBodies } from './queries.ts';
import { reasonOf, reasonOfBody } from './reasons.ts';
import { previewDeliveries } from './replay-deliveries.ts';

interface ProblemsProps extends Found {
  /** Those of a filter for a replay. */
  fields: readonly FormField[];
}

/** What failed, what was rejected, and what of it can be replayed, by cause. */
export function ProblemsPage({ failed, bodies, dropped, rejected, fields }: ProblemsProps) {
  const lost = rejected.filter(({ reason, status }) => !reasonOf(reason, status)[2]);
  const isFree = [failed, bodies, dropped, lost].every(({ length }) => length === 0);
  if (isFree) return <p class="empty">No problems: every callback was accepted, and is in its table.</p>;
  return (
    <>
      <Failed {...{ failed, fields }} />
      <Quarantine {...{ bodies, dropped }} />
      {lost.length > 0 && (
        <section aria-labelledby="rejected">
          <h2 id="rejected">Rejected and not kept, last 24 hours</h2>
          <p>
            The sender got an error, and nothing was stored.{' '}
            <a href="/console/rejections">Rejected requests by time</a>
          </p>
          <RejectedTable rows={lost} />
        </section>
      )}
    </>
  );
}

function Failed({ failed, fields }: Pick<ProblemsProps, 'failed' | 'fields'>) {
  const mayReplay = useMayPost(`/console${previewDeliveries}`);
  if (failed.length === 0) return null;
  return (
    <section aria-labelledby="failed">
      <h2 id="failed">Accepted, and not in their tables: failed</h2>
      <p>
        PostgreSQL rejected the data of these deliveries. They were acknowledged, so the sender does not
        resend them: they stay here until a replay succeeds, and cannot be dropped.
      </p>
      <CauseTable
        label="Failed deliveries by cause"
        rows={['delivery', 'deliveries']}
        lines={failed.map(({ family, event, error, cause, ...counted }) => ({
          ...counted,
          text: (
            <>
              {event}: <CauseText cause={cause} />
            </>
          ),
          list: sameCause(event, error),
          actions: mayReplay && <Action values={{ family, event, error }} />,
        }))}
      />
      <ByFilter action={`/console${previewDeliveries}`} fields={fields} submit="Preview replay …" />
    </section>
  );
}

const Action = ({ values }: { values: Record<string, string> }) => (
  <PostButton action={`/console${previewDeliveries}`} values={values} kind="small second">
    Replay …
  </PostButton>
);

/** A form that selects what to replay, in a line that opens. */
export function ByFilter(form: Pick<Parameters<typeof EntryForm>[0], 'action' | 'fields' | 'submit'>) {
  if (!useMayPost(form.action)) return null;
  return (
    <details>
      <summary>By filter</summary>
      <EntryForm
        {...form}
        hint="Empty fields are ignored. The next page is a preview; nothing is changed before you confirm."
      />
    </details>
  );
}

function Quarantine({ bodies, dropped }: Pick<Found, 'bodies' | 'dropped'>) {
  const { problems } = useContext(VisitContext);
  const mayAct = useMayPost(`/console${previewBodies}`);
  if (bodies.length + dropped.length === 0) return null;
  return (
    <section aria-labelledby="quarantine">
      <h2 id="quarantine">Rejected and kept: in quarantine</h2>
      <p>
        These callbacks passed the access checks, but could not be accepted. Once the cause is fixed, replay
        them; drop those that are not needed. <a href="/console/quarantine">All rejected bodies</a>
      </p>
      <Dropped dropped={dropped} />
      {(problems?.quarantine ?? 0) > groupedBodies && (
        <p class="note">Counted are the {formatCount(groupedBodies)} bodies last received; there are more.</p>
      )}
      <CauseTable
        label="Rejected bodies by cause"
        rows={['body', 'bodies']}
        lines={bodies.map(({ reason, key, faults, ...counted }) => ({
          ...counted,
          text: <BodyCause {...{ reason, faults }} />,
          list: hrefTo('/quarantine', { reason, faults: key }),
          actions: mayAct && <BodyActions values={{ reason, faults: key }} small />,
        }))}
      />
    </section>
  );
}

function BodyCause({ reason, faults }: Pick<BodyGroup, 'reason' | 'faults'>) {
  const [meaning, action] = reasonOfBody(reason);
  return (
    <>
      <strong>{meaning}</strong> {action}
      <FaultList faults={faults} />
    </>
  );
}

export function BodyActions({ values, small }: { values: Record<string, string>; small?: boolean }) {
  const size = small ? 'small ' : '';
  const action = `/console${previewBodies}`;
  return (
    <>
      <PostButton action={action} values={{ ...values, action: 'replay' }} kind={`${size}second`}>
        Replay …
      </PostButton>
      <PostButton action={action} values={{ ...values, action: 'drop' }} kind={`${size}danger`}>
        Drop …
      </PostButton>
    </>
  );
}

function Dropped({ dropped }: Pick<Found, 'dropped'>) {
  if (dropped.length === 0) return null;
  const reasons = dropped.map(({ reason, bodies }) => `${words(reason)}: ${formatCount(bodies)}`).join(', ');
  const last = new Date(Math.max(...dropped.map((one) => one.last.getTime())));
  return (
    <section class="warning">
      <h3>Rejected bodies were dropped</h3>
      <p>
        The quarantine was full, and its oldest bodies were deleted before they were replayed. In the last{' '}
        {droppedDays} days: {reasons}; the last one <Moment at={last} />. Unless the sender resends them, they
        are lost. Replay or drop what is here, or raise <code>QUARANTINE_LIMIT</code>.
      </p>
    </section>
  );
}
