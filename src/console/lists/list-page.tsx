import type { ComponentChildren } from 'preact';
import { formatLocal } from '../../common/local-times.ts';
import { titled } from '../../common/words.ts';
import { viewColumn } from '../../receiver/store/view-columns.ts';
import { Chip, type Filter } from '../ui/chip.tsx';
import { hrefTo, useVisit, type Values } from '../ui/context.ts';
import { formatAmount, formatCount, Sums } from '../ui/values.tsx';
import { duesByAge, lists } from './definitions.ts';
import { describeSelection, formatNames, formats } from './files.ts';
import { columnsOf, type ListQuery, type ListRow, maxCounted, pageRows, type Totals } from './query.ts';
import { describeDays, type RangeName, ranges, rangesToCome } from './ranges.ts';
import { maxPages } from './request.ts';
import { Rows } from './rows.tsx';

interface ListPageProps {
  query: ListQuery;
  above?: ComponentChildren;
  rows: readonly ListRow[];
  totals: Totals;
  ages: readonly ListRow[] | undefined;
  /** How much more or less was collected, and in place of what. */
  change?: string | undefined;
}

export function ListBar({ list, entered, from, to, businesses }: ListQuery) {
  const { aliases } = useVisit();
  const range = entered.from || entered.to ? undefined : (entered.range ?? list.range);
  const days = describeDays(from, to);
  const known = Object.keys(ranges).filter(
    (name) => list.hasDaysToCome || !rangesToCome.includes(name as RangeName),
  );
  // Only places that have a name can be chosen.
  const places = list.places
    .filter((kind) => kind !== 'business' || businesses.length > 1)
    .map((kind): Filter => ({ name: kind, choices: [...aliases[kind]] }))
    .filter(({ name, choices }) => choices!.length > 0 || entered[name]);
  const filters: Filter[] = [
    {
      name: 'range',
      label: 'Days',
      choices: known.map((name) => [name, name === 'all' ? 'All days' : titled(name)]),
      fields: [
        { name: 'from', label: 'From', type: 'date' },
        { name: 'to', label: 'To', type: 'date' },
      ],
      chosen: !range || range === 'all' ? days : `${titled(range)}: ${days}`,
    },
    ...Object.entries(list.choices).map(([name, choices]) => ({
      name,
      label: viewColumn(name).label,
      choices: Object.entries(choices),
    })),
    ...places,
    ...Object.entries(list.given ?? {}).flatMap(([name, { label, shown }]) => {
      if (label) return { name, label, fields: [{ name, label }] };
      return entered[name] ? { name, label: shown, chosen: shown } : [];
    }),
  ];
  return (
    <>
      {filters.map((one) => (
        <Chip key={one.name} {...one} path={`/${list.name}`} entered={entered} />
      ))}
      <span class="right">
        {formatNames.map((format) => (
          <a key={format} class="button" href={hrefTo(`/${list.name}/${format}`, entered)}>
            {formats[format].label}
          </a>
        ))}
      </span>
    </>
  );
}

/** Lists of a group, and pages beside them. The days and the places that are chosen stay; days to come where there are some. */
export function GroupTabs({ group, entered, current }: { group: string; entered: Values; current: string }) {
  const { range, from, to, business, clinic, doctor } = entered;
  const places = { business, clinic, doctor };
  const all = { range, from, to, ...places };
  const today = formatLocal(Date.now(), useVisit().timezone).slice(0, 10);
  const areToCome = [from, to].some((day = '') => day > today) || rangesToCome.includes(range as RangeName);
  const pages = lists.flatMap(({ name, tab, hasDaysToCome = false }) =>
    tab?.[0] === group ? [{ path: `/${name}`, title: tab[1], hasDaysToCome }] : [],
  );
  if (group === 'appointments') pages.push({ path: '/hours', title: 'Busy hours', hasDaysToCome: false });
  return (
    <nav class="tabs" aria-label={group}>
      {pages.map(({ path, title, hasDaysToCome }) => (
        <a
          key={path}
          href={hrefTo(path, hasDaysToCome || !areToCome ? all : places)}
          aria-current={title === current ? 'page' : undefined}
        >
          {title}
        </a>
      ))}
    </nav>
  );
}

export function ListPage(props: ListPageProps) {
  const { query, rows } = props;
  const { aliases } = useVisit();
  const { list } = query;
  // Payments are those of today unless other days are asked for.
  const range = query.entered.range ?? list.range;
  const isOfDays = query.entered.from || query.entered.to || !list.groupBy || list.isKept;
  const entered = isOfDays ? query.entered : { ...query.entered, range };
  return (
    <>
      {list.tab && <GroupTabs group={list.tab[0]} current={list.tab[1]} entered={entered} />}
      {props.above}
      <TotalsLine {...props} />
      {props.ages && (
        <Rows list={duesByAge} columns={duesByAge.columns} rows={props.ages} entered={entered} />
      )}
      <Rows
        {...{ list, rows, entered }}
        columns={[...columnsOf(query).map(({ name }) => name), 'before_amount', 'change']}
        empty="Nothing matches. Choose other days, or remove a filter."
        printed={[describeSelection(query, aliases), describeRows(props)].filter(Boolean).join(' · ')}
      />
      <Pages {...props} />
    </>
  );
}

function TotalsLine({ query, totals, change = '' }: ListPageProps) {
  const { list } = query;
  const limit = formatCount(maxCounted);
  if (totals.rows > maxCounted)
    return <p class="note">More than {limit} rows: too many to add up. Choose fewer days, or one place.</p>;
  const sums = columnsOf(query)
    .filter(({ name }) => totals.rows > 0 && Object.hasOwn(totals.sums, name))
    .map(({ name, label, kind }) => {
      const format = kind === 'amount' ? formatAmount : formatCount;
      const compared = name === 'collected_amount' ? change : '';
      return { value: format(totals.sums[name] ?? 0), label: `${label.toLowerCase()}${compared}` };
    });
  return (
    <Sums
      sums={[{ value: formatCount(totals.rows), label: list.unit[totals.rows === 1 ? 0 : 1] }, ...sums]}
    />
  );
}

/** 101 to 200 of 450; undefined: these are all. */
function describeRows({ query: { page = 1 }, rows, totals }: ListPageProps): string | undefined {
  const before = (page - 1) * pageRows;
  if (rows.length === totals.rows) return undefined;
  const all = totals.rows > maxCounted ? 'more' : formatCount(totals.rows);
  return `${formatCount(before + 1)} to ${formatCount(before + rows.length)} of ${all}`;
}

function Pages(props: ListPageProps) {
  const { list, entered, page = 1 } = props.query;
  const more = props.totals.rows > (page - 1) * pageRows + props.rows.length;
  const link = (to: number, name: string) => (
    <a href={hrefTo(`/${list.name}`, { ...entered, page: to === 1 ? undefined : `${to}` })}>{name}</a>
  );
  return (
    <nav class="pages" aria-label="Pages">
      {page > 1 && link(page - 1, `← Previous ${pageRows}`)}
      {describeRows(props)}
      {more && page < maxPages && link(page + 1, `Next ${pageRows} →`)}
    </nav>
  );
}
