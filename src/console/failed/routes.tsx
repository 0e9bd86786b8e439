import { countDeliveries, type ReplayFilter, replayDeliveries } from '../../apply/replay.ts';
import { other } from '../../families/index.ts';
import { readCauses } from '../../store/refusals.ts';
import type { Section } from '../dependencies.ts';
import { BadInput } from '../errors.ts';
import { familyFields, fieldsOf, guid, localTime, oneOf, readForm, text } from '../read-form.ts';
import { read } from '../store.ts';
import { sendPage } from '../ui/page.tsx';
import { ConfirmReplay, FailedPage, failedGroups, ReplayDone } from './pages.tsx';

/** A page has to be sent before the browser, or a proxy in between, gives up. */
const limit = 2_000;

/** Failed deliveries, and their replay: a preview first, then the replay itself. */
export const section: Section = {
  addRoutes(routes, { families, timezone, db, logAccess }) {
    const shape = {
      status: oneOf(['failed', 'applied']),
      ...familyFields(families),
      business: text.meta({ label: 'Business', kind: 'business' }),
      id: guid,
      error: text,
      since: localTime(timezone, 'Received from'),
      until: localTime(timezone, 'Received before'),
    };
    /** Which deliveries to replay, and the form's fields to send again. @throws BadInput */
    const readReplayForm = (form: Record<string, unknown>) => {
      // A page of an earlier version names the business otherwise; without it, all would be replayed.
      const { data, entered } = readForm({ business: form.businessId, ...form }, shape);
      const { business: businessId, ...others } = data;
      const filter = { ...others, businessId };
      if (filter.status === 'applied' && !filter.id && filter.family !== other.name) {
        throw new BadInput('Applied deliveries can only be replayed one at a time, by id.');
      }
      return { filter, entered };
    };

    routes.get('/failed', 'viewer', async (_req, res) => {
      const groups = await read(db, failedGroups);
      const errors = groups.map(({ error }) => error);
      const causes = await readCauses(db, errors);
      const explained = groups.map((group, index) => ({ ...group, cause: causes[index]! }));
      sendPage(res, 'Failed deliveries', <FailedPage groups={explained} fields={fieldsOf(shape)} />);
    });

    const replay = async (filter: ReplayFilter, dryRun: boolean) => ({
      matching: await countDeliveries(db, families, filter),
      ...(await replayDeliveries(db, families, filter, { dryRun, limit })),
    });

    routes.post('/replay/preview', 'operator', async (req, res) => {
      const { filter, entered } = readReplayForm(req.body);
      const outcome = await replay(filter, true);
      sendPage(res, 'Preview replay', <ConfirmReplay outcome={outcome} values={entered} />);
    });

    routes.post('/replay', 'operator', async (req, res) => {
      const { filter, entered } = readReplayForm(req.body);
      const rows = Math.min(await countDeliveries(db, families, filter), limit);
      // PostgreSQL's error may quote a value.
      const logged = { ...filter, ...(filter.error && { error: 'one error' }) };
      await logAccess(res, { action: 'replay', filter: logged, rows });
      const outcome = await replay(filter, false);
      sendPage(res, 'Replayed', <ReplayDone outcome={outcome} values={entered} />);
    });
  },
};
