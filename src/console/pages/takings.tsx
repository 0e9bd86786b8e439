import { z } from 'zod';
import { addDays, addMonths, daysBetween, formatDay, monthEnd, monthStart } from '../../common/days.ts';
import { formatLocal } from '../../common/local-times.ts';
import { aliasKinds } from '../../reconcile/aliases.ts';
import { GroupTabs, PlaceChip } from '../lists/list-page.tsx';
import { readBusinesses } from '../lists/read.ts';
import { readPlaces } from '../lists/request.ts';
import { BadInput, type Page } from '../page.ts';
import { oneOf, readForm, text } from '../read-form.ts';
import { createRecall } from '../recall.ts';
import { Chip } from '../ui/chips.tsx';
import { hrefTo, type Values, visitOf } from '../ui/context.ts';
import { Bars } from '../ui/pictures.tsx';
import { sendPage } from '../ui/send-page.tsx';
import { type Column, Table } from '../ui/table.tsx';
import {
  Amount,
  formatAmount,
  formatChange,
  formatCount,
  Named,
  Nothing,
  Sums,
  sumOf,
  titled,
} from '../ui/values.tsx';
import { type Billed, type Grouping, groupings, readMonths, readTaken, type Taken } from './taken.ts';

const shownMonths = 13;

export const takings: Page = (routes, { config, read }) => {
  const recallMonths = createRecall<Billed[]>();
  const recallLast = createRecall<Taken[]>();
  const shape = {
    by: oneOf([...groupings, 'month'] as const),
    month: z.string().regex(/^(19|2\d)\d\d-(0[1-9]|1[0-2])$/, 'Enter a month such as 2026-11.'),
    business: text,
    clinic: text,
    doctor: text,
  };

  routes.get('/takings', 'viewer', async (req, res) => {
    const { aliases } = visitOf(res);
    const { by = 'day', ...fields } = readForm(req.query, shape);
    const today = formatLocal(Date.now(), config.reportTimezone).slice(0, 10);
    const thisMonth = monthStart(today);
    const month = fields.month ? `${fields.month}-01` : thisMonth;
    if (month > today) throw new BadInput('This month is yet to come.');
    const to = month === thisMonth ? today : monthEnd(month);
    const before = addMonths(month, -1);
    // As many days of the month before, where this one is not over.
    const sameDay = addDays(before, daysBetween(month, to));
    const toBefore = month === thisMonth && sameDay < month ? sameDay : monthEnd(before);
    const months = Array.from({ length: shownMonths }, (_, n) => addMonths(thisMonth, n + 1 - shownMonths));
    const { several, places, ...taken } = await read(async (db) => {
      const businesses = await readBusinesses(db);
      const places = await readPlaces(db, fields, businesses, aliases);
      const selection = { businesses, places };
      const grouping = by === 'month' ? 'day' : by;
      const earlier = { ...selection, from: months[0]!, to: addDays(thisMonth, -1) };
      const lastMonth = { ...selection, from: before, to: toBefore };
      return {
        several: businesses.length > 1,
        places,
        billed: [
          ...(await recallMonths(JSON.stringify(earlier), () => readMonths(db, earlier))),
          ...(await readMonths(db, { ...selection, from: thisMonth, to: today })),
        ],
        rows: await readTaken(db, grouping, { ...selection, from: month, to }),
        last: await recallLast(JSON.stringify([grouping, lastMonth]), () =>
          readTaken(db, grouping, lastMonth),
        ),
      };
    });
    const entered = { by, month: fields.month, ...places };
    const page = { path: '/takings', entered };
    const choices = months.toReversed().map((at) => [at.slice(0, 7), nameOfMonth(at)] as const);
    const kinds = aliasKinds.filter((kind) => several || kind !== 'business');
    const bar = (
      <>
        <Chip {...page} name="month" chosen={nameOfMonth(month)} choices={choices} />
        {kinds.map((kind) => (
          <PlaceChip key={kind} {...page} kind={kind} />
        ))}
      </>
    );
    const lastName = toBefore === monthEnd(before) ? nameOfMonth(before) : daysOf(before, toBefore);
    const shown = { ...taken, by, entered, month, to, months, lastName };
    sendPage(res, 'Takings', <Takings {...shown} />, { bar });
  });
};

const nameOfMonth = (day: string) => formatDay(day).replace(/^1 /, '');
const daysOf = (from: string, to: string) => `${formatDay(from).split(' ')[0]} to ${formatDay(to)}`;

interface TakingsProps {
  by: Grouping | 'month';
  entered: Values;
  month: string;
  /** The last day of it, or today. */
  to: string;
  rows: readonly Taken[];
  /** As many days of the month before, and what they are called. */
  last: readonly Taken[];
  lastName: string;
  months: readonly string[];
  billed: readonly Billed[];
}

function Takings(props: TakingsProps) {
  const { by, entered, rows, last, lastName, month, months, billed } = props;
  const sum = (name: Exclude<keyof Taken, 'key'>, of = rows) => sumOf(of, (row) => row[name]);
  const change = formatChange(sum('collected'), sum('collected', last));
  const compared = change ? `, ${change} against ${lastName}` : '';
  return (
    <>
      <GroupTabs group="takings" current={`By ${by}`} entered={entered} />
      <div class="hero">
        <Sums
          sums={[
            { value: formatAmount(sum('collected')), label: `collected${compared}` },
            { value: formatAmount(sum('refunds')), label: 'of it went back' },
            { value: formatAmount(sum('billed')), label: `billed, ${formatCount(sum('receipts'))} receipts` },
            { value: formatAmount(sum('due')), label: 'of it due' },
          ]}
        />
        <Bars
          about={`Billed in each of the last ${shownMonths} months, and what is due of it`}
          bars={months.map((at) => {
            const { billed: value = 0, due = 0 } = billed.find(({ month }) => month === at) ?? {};
            const label = `${nameOfMonth(at)}: ${formatAmount(value)} billed, ${formatAmount(due)} due`;
            return { label, value, failed: due, isNow: at === month };
          })}
        />
      </div>
      {by === 'month' ? <Months {...props} /> : <Groups {...props} by={by} />}
      <p class="note">
        Collected: what came in less what went back, on the day on which it did, also for older receipts.
        Billed, and what is due of it: by the day of the receipt. Failed receipts are left out.
      </p>
    </>
  );
}

function Months({ months, billed, entered }: TakingsProps) {
  const hrefOf = (month: string) =>
    hrefTo('/takings', { ...entered, by: undefined, month: month.slice(0, 7) });
  return (
    <Table
      label="Billed by month"
      rows={billed.toSorted((one, other) => other.month.localeCompare(one.month))}
      empty={`Nothing was billed since ${nameOfMonth(months[0]!)}.`}
      columns={[
        ['Month', ({ month }) => <a href={hrefOf(month)}>{nameOfMonth(month)}</a>, 'at-title'],
        ['Billed', ({ billed }) => <Amount value={billed} />, 'n at-amount'],
        ['Due', ({ due }) => <Amount value={due || null} />, 'n at-badge'],
      ]}
    />
  );
}

/** Each day, doctor or clinic, with a way to its payments. */
function Groups({ by, rows, last, lastName, month, to, entered }: TakingsProps & { by: Grouping }) {
  const { business, clinic, doctor } = entered;
  const isPlace = by !== 'day';
  const lastOf = ({ key }: Taken) => last.find((row) => row.key === key)?.collected ?? 0;
  const nothing = { collected: 0, refunds: 0, receipts: 0, billed: 0, due: 0 };
  const gone = isPlace ? last.filter(({ key }) => !rows.some((row) => row.key === key)) : [];
  const shown = [...rows, ...gone.map(({ key }) => ({ ...nothing, key }))];
  const nameOf = ({ key }: Taken) => {
    if (!key) return `No ${by}`;
    const days = isPlace ? { from: month, to, [by]: key } : { from: key, to: key };
    const href = hrefTo('/payments', { business, clinic, doctor, ...days });
    return isPlace ? <Named kind={by} id={key} href={href} /> : <a href={href}>{formatDay(key)}</a>;
  };
  const compared: Column<Taken>[] = [
    [lastName, (row) => <Amount value={lastOf(row)} />, 'n'],
    ['Change', (row) => formatChange(row.collected, lastOf(row)) ?? <Nothing />, 'n at-badge'],
  ];
  return (
    <Table
      label={`Takings by ${by}`}
      rows={shown.toSorted((one, other) =>
        isPlace ? other.collected - one.collected : other.key!.localeCompare(one.key!),
      )}
      empty="Nothing was billed or collected in this time."
      columns={[
        [titled(by), nameOf, 'at-title'],
        ['Collected', ({ collected }) => <Amount value={collected} />, 'n at-amount'],
        ['Of it went back', ({ refunds }) => <Amount value={refunds || null} />, 'n'],
        ...(isPlace ? compared : []),
        ['Receipts', ({ receipts }) => formatCount(receipts), 'n at-note'],
        ['Billed', ({ billed }) => <Amount value={billed} />, isPlace ? 'n' : 'n at-badge'],
        ['Due', ({ due }) => <Amount value={due || null} />, 'n'],
      ]}
    />
  );
}
