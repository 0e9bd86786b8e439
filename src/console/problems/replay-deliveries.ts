import { adviceOn, countDeliveries, type ReplayFilter, replayDeliveries } from '../../apply/replay.ts';
import { other } from '../../families/index.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { BadInput } from '../errors.ts';
import { familyFields, guid, localTime, oneOf, readForm, text } from '../read-form.ts';
import type { Replay } from './replay.tsx';

type Dependencies = Pick<RouteDependencies, 'db' | 'families' | 'timezone'>;

/** The replay of deliveries: of those that failed, or of one that was applied. */
export function replayOfDeliveries({ db, families, timezone }: Dependencies): Replay<ReplayFilter> {
  const received = localTime(timezone);
  const shape = {
    status: oneOf(['failed', 'applied']),
    ...familyFields(families),
    business: text,
    id: guid,
    error: text,
    since: received,
    until: received,
  };
  return {
    section: 'deliveries',
    address: '/replay',
    preview: '/replay/preview',
    read(form) {
      // A page of an earlier version names the business otherwise; without it, all would be replayed.
      const { data, entered } = readForm({ business: form.businessId, ...form }, shape);
      const { business: businessId, ...filter } = data;
      if (filter.status === 'applied' && !filter.id && filter.family !== other.name) {
        throw new BadInput('Applied deliveries can only be replayed one at a time, by id.');
      }
      return { filter: { ...filter, businessId }, entered };
    },
    count: (filter) => countDeliveries(db, families, filter),
    // PostgreSQL's error may quote a value.
    entry: (filter) => ({
      action: 'replay',
      filter: { ...filter, ...(filter.error && { error: 'one error' }) },
    }),
    async run(filter, options) {
      const outcome = await replayDeliveries(db, families, filter, options);
      const { applied, changed, failed, errors } = outcome;
      const tried = applied + failed;
      const isUseful = applied > 0 && (changed > 0 || filter.status !== 'applied');
      return {
        figures: [
          ['Would be applied', 'Applied', applied],
          ['Rows that would change', 'Rows changed', changed],
          ['Would fail again', 'Failed again', failed],
        ],
        messages: errors,
        tried,
        useful: isUseful ? tried : 0,
        advice: adviceOn(filter, outcome),
      };
    },
  };
}
