import type { ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import { droppedDays, groupedBodies, groupQuarantine, readDropped } from '../../intake/list-quarantine.ts';
import { groupFailed } from '../../store/refusals.ts';
import type { Db } from '../../store/tables.ts';
import type { Section } from '../dependencies.ts';
import { BodyActions } from '../quarantine/pages.tsx';
import { reasonOfBody } from '../quarantine/reasons.ts';
import { VisitContext } from '../ui/context.ts';
import { PostButton } from '../ui/forms.tsx';
import { hrefTo, words } from '../ui/links.ts';
import { sections } from '../ui/outcome.tsx';
import { sendPage } from '../ui/page.tsx';
import { formatCount, Moment } from '../ui/values.tsx';
import { CauseTable, CauseText, FaultList, sameCause } from './causes.tsx';
import { addReplay } from './replay.tsx';
import { replayOfDeliveries } from './replay-deliveries.ts';

const previewDeliveries = '/console/replay/preview';
const previewBodies = '/console/quarantine/preview';

async function readProblems(db: Db) {
  const [failed, bodies, dropped] = await Promise.all([
    groupFailed(db),
    groupQuarantine(db),
    readDropped(db),
  ]);
  return { failed, bodies, dropped };
}

type Found = Awaited<ReturnType<typeof readProblems>>;

/** What failed and what lies in the quarantine, by cause; and the replay of what failed. */
export const section: Section = {
  addRoutes(routes, dependencies) {
    routes.get('/problems', 'viewer', async (_req, res) => {
      sendPage(res, 'Problems', <Problems {...(await readProblems(dependencies.db))} />);
    });
    addReplay(routes, dependencies, replayOfDeliveries(dependencies));
  },
};

function Problems({ failed, bodies, dropped }: Found) {
  const isFree = [failed, bodies, dropped].every(({ length }) => length === 0);
  if (isFree) return <p class="empty">No problems: every callback was accepted, and is in its table.</p>;
  return (
    <>
      <Failed failed={failed} />
      <Quarantine {...{ bodies, dropped }} />
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
  return (
    <Part id="failed" title="Accepted, and not in their tables: failed" of={failed}>
      <p>
        PostgreSQL rejected the data of these deliveries. They were acknowledged, so the sender does not
        resend them: they stay here until a replay succeeds, and cannot be dropped.{' '}
        <a href="/console/deliveries?status=failed">All failed deliveries</a>
      </p>
      <CauseTable
        label="Failed deliveries by cause"
        rows={sections.deliveries.rows}
        preview={previewDeliveries}
        lines={failed.map(({ family, event, error, cause, ...counted }) => ({
          ...counted,
          text: (
            <>
              {event}: <CauseText cause={cause} />
            </>
          ),
          list: sameCause(event, error),
          actions: (
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
        rows={sections.quarantine.rows}
        preview={previewBodies}
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
            actions: <BodyActions values={{ reason, faults: key }} size="small " />,
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
        are lost. Replay or drop what is here.
      </p>
    </section>
  );
}
