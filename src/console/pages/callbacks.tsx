import type { Request } from 'express';
import { z } from 'zod';
import { formatLocal, formatShort } from '../../common/local-times.ts';
import { type Arrivals, readArrivals } from '../../inbox/arrivals.ts';
import { type Cause, listCauses } from '../../inbox/causes.ts';
import { readStatuses, replayDeliveries } from '../../inbox/list-deliveries.ts';
import { listQuarantine, replayQuarantined } from '../../inbox/replay.ts';
import type { Db } from '../../receiver/store/tables.ts';
import type { ListQuery } from '../lists/query.ts';
import { BadInput, type Page } from '../page.ts';
import { cause as causeHash, readForm } from '../read-form.ts';
import { hrefTo, useVisit } from '../ui/context.ts';
import { PostButton } from '../ui/forms.tsx';
import { Hero } from '../ui/pictures.tsx';
import { Table } from '../ui/table.tsx';
import { Badge, formatCount, Moment, Named, sumOf } from '../ui/values.tsx';
import { describeFaults, describeOutcomes, saidOutcomes, titleOf } from './messages.tsx';

/** Messages that one request tries again; each is stored by itself. */
const maxTried = 500;

/** Another try of all that failed, or was rejected, for one cause. The lists are in lists/definitions.ts. */
export const callbacks: Page = (routes, context) => {
  const { db, logAccess } = context;
  routes.post('/callbacks/again', 'operator', async (req, res) => {
    const { cause } = readForm(req.body, { cause: causeHash });
    if (!cause) throw new BadInput('The cause is missing.');
    const ids = (await listQuarantine(db, { cause, limit: maxTried })).map(({ id }) => id);
    await logAccess(res, { action: ids.length > 0 ? 'quarantine replay' : 'replay', filter: { cause } });
    const outcomes =
      ids.length > 0
        ? [...(await replayQuarantined(context, ids)).values()].map(({ outcome }) => outcome)
        : await readStatuses(db, await replayDeliveries(db, { cause }));
    res.redirect(303, hrefTo('/callbacks', { again: describeOutcomes(outcomes) }));
  });
};

/** Above the list: how many came in the last hours; what has failed or was rejected. */
export async function aboveCallbacks(db: Db, { entered, page }: ListQuery, req: Request) {
  if (entered.state || page) return undefined;
  const arrivals = await readArrivals(db);
  const causes = await listCauses(db);
  const { again } = readForm(req.query, { again: z.string().regex(saidOutcomes) });
  return (
    <>
      {again && <p role="status">{again}.</p>}
      <Overview arrivals={arrivals} />
      <Causes causes={causes} />
    </>
  );
}

function Overview({ arrivals }: { arrivals: readonly Arrivals[] }) {
  const { timezone } = useVisit();
  const sum = (key: 'stored' | 'waiting' | 'failed' | 'rejected') => sumOf(arrivals, (row) => row[key]);
  const [stored, waiting, failed, rejected] = [sum('stored'), sum('waiting'), sum('failed'), sum('rejected')];
  return (
    <Hero
      value={formatCount(stored + rejected)}
      about="Callbacks received by hour"
      bars={arrivals.map(({ at, stored, failed, rejected }) => ({
        name: formatLocal(at.getTime(), timezone).slice(11, 13),
        label: `${formatShort(at, timezone)}: ${formatCount(stored + rejected)}, ${formatCount(failed + rejected)} failed or rejected`,
        value: stored + rejected,
        failed: failed + rejected,
      }))}
    >
      received in 24 hours
      <p class="soft">
        {formatCount(stored - waiting - failed)} applied
        {Object.entries({ waiting, failed, rejected }).map(([state, count]) => (
          <span key={state}>
            {' · '}
            <a href={stateHref(state)}>{`${formatCount(count)} ${state}`}</a>
          </span>
        ))}
      </p>
    </Hero>
  );
}

const stateHref = (state: string, cause?: string) =>
  state === 'rejected'
    ? hrefTo('/rejected', { cause })
    : hrefTo('/callbacks', { range: 'all', state, cause });

function Causes({ causes }: { causes: readonly Cause[] }) {
  const again = { action: hrefTo('/callbacks/again'), least: 'operator', text: 'Try again' } as const;
  return (
    <Table
      label="To do"
      heading
      rows={causes}
      columns={[
        [
          'Count',
          ({ state, count, cause }) => (
            <a href={stateHref(state, cause)}>
              <Badge state={state}>{`${formatCount(count)} ${state}`}</Badge>
            </a>
          ),
        ],
        [
          'Cause',
          ({ business, businesses, since, ...cause }) => (
            <>
              {titleOf(cause.family)}: {describeFaults(cause)}{' '}
              <small>
                {business && <Named kind="business" id={business} />}
                {businesses > 1 && ` and ${formatCount(businesses - 1)} more`} since <Moment at={since} />
              </small>
            </>
          ),
          'wide',
        ],
        ['', ({ cause }) => <PostButton {...again} values={{ cause }} />],
      ]}
    />
  );
}
