import { daysBetween, formatDay } from '../../common/days.ts';
import { type Basis, type Compared, splitFamilies } from '../../reports/basis.ts';
import { titled, words } from '../ui/links.ts';
import { formatCount, formatCountOf, Moment } from '../ui/values.tsx';

const list = new Intl.ListFormat('en-GB');
const namesOf = (families: readonly string[]) => list.format(families.map((name) => `${words(name)}s`));

/** What a report rests on, in one line. */
export function BasisLine({ families, compared }: Basis) {
  const page = <a href="/console/completeness">Completeness</a>;
  if (!compared) return <p class="note">Not compared with the platform: {page}.</p>;
  const [names, others] = splitFamilies(families).map(namesOf) as [string, string];
  const { suspected } = compared;
  const unverifiable = others && `${others} cannot be verified`;
  return (
    <p class="note">
      {names && <ComparedDays {...compared} names={titled(names)} />}
      {names && others && '; '}
      {names ? unverifiable : titled(unverifiable)}
      {suspected > 0 && (
        <>
          , <a href="/console/reports/suspected_receipts">{formatCount(suspected)} suspected missing</a>
        </>
      )}
      . {page}
    </p>
  );
}

function ComparedDays(props: Compared & { names: string }) {
  const { names, first, last, days, asOf, earlier, open, businesses, ofBusinesses } = props;
  if (!first || !last) return <>{names} of these days were not compared with the platform</>;
  const span = first === last ? formatDay(first) : `${formatDay(first)} to ${formatDay(last)}`;
  const hasGaps = daysBetween(first, last) >= days;
  return (
    <>
      {names} {businesses < ofBusinesses && `of ${businesses} of ${ofBusinesses} businesses `}
      {open > 0 ? 'compared' : 'complete'} as of <Moment at={asOf} /> for{' '}
      {hasGaps && `${formatCount(days)} days from `}
      {span}, by the day on which they take place
      {earlier > 0 && `, and for ${formatCountOf(earlier, ['day', 'days'])} as of earlier`}
      {open > 0 && `; ${formatCountOf(open, ['difference', 'differences'])} not applied yet`}
    </>
  );
}
