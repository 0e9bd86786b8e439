import type { ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import {
  type BodyGroup,
  droppedDays,
  groupedBodies,
  type readDropped,
} from '../../intake/list-quarantine.ts';
import type { groupFailed } from '../../store/refusals.ts';
import { type Rejected, reasonOf, reasonOfBody } from '../../store/rejections.ts';
import { BodyActions } from '../quarantine/pages.tsx';
import { useMayPost, VisitContext } from '../ui/context.ts';
import { PostButton } from '../ui/forms.tsx';
import { hrefTo, words } from '../ui/links.ts';
import { formatCount, Moment } from '../ui/values.tsx';
import { CauseTable, CauseText, FaultList, sameCause } from './causes.tsx';
import { RejectedTable } from './rejected-table.tsx';

interface Found {
  failed: Awaited<ReturnType<typeof groupFailed>>;
  bodies: readonly BodyGroup[];
  dropped: Awaited<ReturnType<typeof readDropped>>;
  rejected: readonly Rejected[];
}

const previewDeliveries = '/console/replay/preview';
const previewBodies = '/console/quarantine/preview';

/** What failed, what was rejected, and what of it can be replayed, by cause. */
export function ProblemsPage({ failed, bodies, dropped, rejected }: Found) {
  const lost = rejected.filter(({ reason, status }) => !reasonOf(reason, status).quarantine);
  const isFree = [failed, bodies, dropped, lost].every(({ length }) => length === 0);
  if (isFree) return <p class="empty">No problems: every callback was accepted, and is in its table.</p>;
  return (
    <>
      <Failed failed={failed} />
      <Quarantine {...{ bodies, dropped }} />
      <Part id="rejected" title="Rejected and not kept, last 24 hours" of={lost}>
        <p>
          The sender got an error, and nothing was stored.{' '}
          <a href="/console/rejections">Rejected requests by time</a>
        </p>
        <RejectedTable rows={lost} />
      </Part>
    </>
  );
}

interface PartProps {
  id: string;
  title: string;
  of: readonly unknown[];
  children: ComponentChildren;
}

/** A part of the page, which is there only if something is of its kind. */
function Part({ id, title, of, children }: PartProps) {
  if (of.length === 0) return null;
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}

function Failed({ failed }: Pick<Found, 'failed'>) {
  const mayReplay = useMayPost(previewDeliveries);
  return (
    <Part id="failed" title="Accepted, and not in their tables: failed" of={failed}>
      <p>
        PostgreSQL rejected the data of these deliveries. They were acknowledged, so the sender does not
        resend them: they stay here until a replay succeeds, and cannot be dropped.{' '}
        <a href="/console/deliveries?status=failed">All failed deliveries</a>
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
          actions: mayReplay && (
            <PostButton action={previewDeliveries} values={{ family, event, error }} kind="small second">
              Replay …
            </PostButton>
          ),
        }))}
      />
    </Part>
  );
}

function Quarantine({ bodies, dropped }: Pick<Found, 'bodies' | 'dropped'>) {
  const { problems } = useContext(VisitContext);
  const mayAct = useMayPost(previewBodies);
  return (
    <Part id="quarantine" title="Rejected and kept: in quarantine" of={[...bodies, ...dropped]}>
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
        lines={bodies.map(({ reason, key, faults, ...counted }) => {
          const { meaning, action } = reasonOfBody(reason);
          return {
            ...counted,
            text: (
              <>
                <strong>{meaning}</strong> {action}
                <FaultList faults={faults} />
              </>
            ),
            list: hrefTo('/quarantine', { reason, faults: key }),
            actions: mayAct && <BodyActions values={{ reason, faults: key }} size="small " />,
          };
        })}
      />
    </Part>
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
