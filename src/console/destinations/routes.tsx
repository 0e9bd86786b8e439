import { listAttempts } from '../../destinations/attempt-table.ts';
import { type ListedDestination, listDestinations, setState } from '../../destinations/destination-table.ts';
import { listWaiting, redrive, shownId } from '../../destinations/waiting-table.ts';
import type { RouteDependencies, Section } from '../dependencies.ts';
import { oneOf, readForm, text } from '../read-form.ts';
import { PostButton } from '../ui/forms.tsx';
import { hrefTo, words } from '../ui/links.ts';
import { sendPage } from '../ui/page.tsx';
import { Table } from '../ui/table.tsx';
import { formatCount, Moment, Named, Nothing } from '../ui/values.tsx';

const commands = { pause: 'Pause', resume: 'Resume', redrive: 'Send again' };
type Command = keyof typeof commands;

/** Where changes are sent to. They are added and removed by a command, which shows the secret. */
export const section: Section = {
  addRoutes(routes, { db, logAccess }) {
    routes.get('/destinations', 'operator', async (req, res) => {
      const destinations = await listDestinations(db);
      const { id } = readForm(req.query, { id: text }).data;
      const chosen = destinations.find((one) => one.id === id) ?? destinations[0];
      const page = (
        <>
          <p>
            Where changes of records are sent to, signed. <code>receiver destinations</code> adds, tests and
            removes them.
          </p>
          <Destinations destinations={destinations} />
          {chosen && (await sentTo(db, chosen.id))}
        </>
      );
      sendPage(res, 'Webhooks', page);
    });

    routes.post('/destinations', 'operator', async (req, res) => {
      const fields = { id: text, command: oneOf(Object.keys(commands) as Command[]) };
      const { id = '', command } = readForm(req.body, fields).data;
      await db.transaction().execute(async (tx) => {
        await logAccess(res, { action: 'destination', filter: { command, destination: id } }, tx);
        if (command === 'pause') await setState(tx, id, 'paused', null);
        if (command === 'resume') await setState(tx, id, 'active', null);
        if (command !== 'pause') await redrive(tx, id, command === 'redrive');
      });
      res.redirect(303, hrefTo('/destinations', { id }));
    });
  },
};

const stateOf = ({ state, reason, failingSince }: ListedDestination) =>
  reason ? `${state}: ${reason}` : state === 'active' && failingSince ? 'active, failing' : state;

function Destinations({ destinations }: { destinations: readonly ListedDestination[] }) {
  const button = (id: string, command: Command) => (
    <PostButton action="/console/destinations" values={{ id, command }} kind="small second">
      {commands[command]}
    </PostButton>
  );
  return (
    <Table
      label="Destinations"
      rows={destinations}
      empty={
        <>
          Changes are sent nowhere. <code>npx receiver destinations add https://… --families receipt</code>{' '}
          adds an address.
        </>
      }
      columns={[
        {
          head: 'Destination',
          cell: ({ id, url }) => (
            <>
              <a href={hrefTo('/destinations', { id })}>{new URL(url).host}</a> <span class="hint">{id}</span>
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
        { head: 'Last', cell: ({ deliveredAt }) => <Moment at={deliveredAt} /> },
        { head: 'Waiting', cell: ({ waiting, parked }) => formatCount(waiting - parked), numeric: true },
        { head: 'Given up', cell: ({ parked }) => formatCount(parked), numeric: true },
        {
          head: 'Actions',
          cell: ({ id, state, parked }) => (
            <>
              {button(id, state === 'active' ? 'pause' : 'resume')}
              {parked > 0 && button(id, 'redrive')}
            </>
          ),
        },
      ]}
    />
  );
}

const shown = 20;

/** The records that wait for a destination, and its last attempts with their answers. */
async function sentTo(db: RouteDependencies['db'], id: string) {
  const [waiting, attempts] = [await listWaiting(db, id, shown), await listAttempts(db, id, shown)];
  return (
    <>
      <h2>Records of {id} that wait</h2>
      <Table
        label="Records whose last change was not accepted"
        rows={waiting}
        empty="No record waits."
        columns={[
          { head: 'Family', cell: ({ family }) => words(family) },
          { head: 'Business', cell: ({ businessId }) => <Named kind="business" id={businessId} /> },
          { head: 'Record', cell: shownId },
          { head: 'Attempts', cell: ({ attempts }) => attempts, numeric: true },
          { head: 'Last answer', cell: ({ outcome }) => outcome },
          { head: 'Since', cell: ({ failedAt }) => <Moment at={failedAt} /> },
          {
            head: 'Next attempt',
            cell: ({ parkedAt, nextAt }) => (parkedAt ? 'given up' : <Moment at={nextAt} />),
          },
        ]}
      />
      <h2>Last attempts of {id}</h2>
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
  );
}
