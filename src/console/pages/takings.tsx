import { type QueryExecutorProvider as Db, sql } from 'kysely';
import { z } from 'zod';
import { addDays, addMonths, daysBetween, formatDay, monthEnd, monthStart } from '../../common/days.ts';
import { formatLocal } from '../../common/local-times.ts';
import { aliasKinds } from '../../reconcile/aliases.ts';
import { GroupTabs, PlaceChip } from '../lists/list-page.tsx';
import { read as all, readBusinesses, textArray } from '../lists/read.ts';
import { readPlaces } from '../lists/request.ts';
import { BadInput, type Page } from '../page.ts';
import { oneOf, readForm, text } from '../read-form.ts';
import { createRecall } from '../recall.ts';
import { Chip } from '../ui/chips.tsx';
import { hrefTo, type Values, visitOf } from '../ui/context.ts';
import { Bars, shareColumn } from '../ui/pictures.tsx';
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

const shownMonths = 13;

const keys = {
  day: sql`day::text`,
  month: sql`to_char(day, 'YYYY-MM-01')`,
  doctor: sql`nullif(doctor_id, '')`,
  clinic: sql`nullif(clinic_id, '')`,
};
type Grouping = keyof typeof keys;

interface Selection {
  businesses: readonly string[];
  /** The only one of them. */
  business?: string | undefined;
  clinic?: string | undefined;
  doctor?: string | undefined;
}

interface Billed {
  key: string | null;
  receipts: number;
  billed: number;
  due: number;
}

interface Taken extends Billed {
  collected: number;
  refunds: number;
}

/** What was billed in some days, by the day of issue, and collected, by the day on which the money came. */
function readTaken(db: Db, by: Grouping, from: string, to: string, selection: Selection) {
  const where = conditionsOf(from, to, selection);
  // Those of all businesses are found by their days alone.
  const { business } = selection;
  const ofPayments = business ? where : conditionsOf(from, to, { ...selection, businesses: undefined });
  return all(
    db,
    sql<Taken>`
      select key, sum(collected)::float8 as collected, -sum(refunds)::float8 as refunds, sum(receipts)::int as receipts,
        sum(billed)::float8 as billed, sum(due)::float8 as due
      from (
        select ${keys[by]} as key, 0 as collected, 0 as refunds, 1 as receipts, net_amount as billed, due_amount as due
        from reporting.receipts where ${where} and not reporting.is_failed(status)
        union all
        select ${keys[by]}, amount, least(amount, 0), 0, 0, 0 from reporting.payments where ${ofPayments}
      ) taken group by key`,
  );
}

const readMonths = (db: Db, from: string, to: string, selection: Selection) =>
  all(
    db,
    sql<Billed>`
      select ${keys.month} as key, sum(receipts)::int as receipts, sum(billed)::float8 as billed, sum(due)::float8 as due
      from (
        select day, count(*) as receipts, coalesce(sum(net_amount), 0) as billed, coalesce(sum(due_amount), 0) as due
        from reporting.receipts where ${conditionsOf(from, to, selection)} and not reporting.is_failed(status) group by day
      ) days group by 1`,
  );

type Conditions = Pick<Selection, 'clinic' | 'doctor'> & { businesses: readonly string[] | undefined };

const conditionsOf = (from: string, to: string, { businesses, clinic, doctor }: Conditions) => sql`
  day between ${from}::date and ${to}::date ${businesses ? sql`and business_id = any(${textArray(businesses)})` : sql``}
  ${clinic ? sql`and clinic_id = ${clinic}` : sql``} ${doctor ? sql`and doctor_id = ${doctor}` : sql``}`;

export const takings: Page = (routes, { config, read }) => {
  const recallMonths = createRecall<Billed[]>();
  const recallLast = createRecall<Taken[]>();
  const shape = {
    by: oneOf(Object.keys(keys) as Grouping[]),
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
      const selection = { ...places, businesses: places.business ? [places.business] : businesses };
      const grouping = by === 'month' ? 'day' : by;
      const key = JSON.stringify([selection.businesses, places.clinic, places.doctor]);
      return {
        several: businesses.length > 1,
        places,
        billed: await recallMonths(key, () => readMonths(db, months[0]!, today, selection)),
        rows: await readTaken(db, grouping, month, to, selection),
        last: await recallLast(`${grouping} ${before} ${toBefore} ${key}`, () =>
          readTaken(db, grouping, before, toBefore, selection),
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
  by: Grouping;
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
            const { billed: value = 0, due = 0 } = billed.find(({ key }) => key === at) ?? {};
            const label = `${nameOfMonth(at)}: ${formatAmount(value)} billed, ${formatAmount(due)} due`;
            return { label, value, failed: due, isNow: at === month };
          })}
        />
      </div>
      <Groups {...props} />
      <p class="note">
        Collected: what came in less what went back, on the day on which it did, also for older receipts.
        Billed, and what is due of it: by the day of the receipt. Failed receipts are left out.
      </p>
    </>
  );
}

/** Each day, month, doctor or clinic, with a way to its payments. */
function Groups({ by, rows, billed, last, lastName, month, to, entered }: TakingsProps) {
  const { business, clinic, doctor } = entered;
  const isPlace = by === 'doctor' || by === 'clinic';
  const lastOf = ({ key }: Taken) => last.find((row) => row.key === key)?.collected ?? 0;
  const nothing = { collected: 0, refunds: 0, receipts: 0, billed: 0, due: 0 };
  const source: readonly Billed[] = by === 'month' ? billed : rows;
  const keys = new Set([...source, ...(isPlace ? last : [])].map(({ key }) => key));
  const shown = [...keys].map(
    (key): Taken => ({ ...nothing, key, ...source.find((row) => row.key === key) }),
  );
  const linkTo = (path: string, fields: Values, text: string) => (
    <a href={hrefTo(path, { business, clinic, doctor, ...fields })}>{text}</a>
  );
  const nameOf = ({ key }: Taken) => {
    if (!key) return `No ${by}`;
    if (by === 'day') return linkTo('/payments', { from: key, to: key }, formatDay(key));
    if (by === 'month') return linkTo('/takings', { month: key.slice(0, 7) }, nameOfMonth(key));
    const href = hrefTo('/payments', { business, clinic, doctor, from: month, to, [by]: key });
    return <Named kind={by as 'doctor'} id={key} href={href} />;
  };
  const taken: Column<Taken>[] = [
    shareColumn(shown, ({ collected }) => collected),
    ['Collected', ({ collected }) => <Amount value={collected} />, 'n at-amount'],
    ['Of it went back', ({ refunds }) => <Amount value={refunds || null} />, 'n'],
  ];
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
        ...(by === 'month' ? [] : taken),
        ...(isPlace ? compared : []),
        ['Receipts', ({ receipts }) => formatCount(receipts), 'n at-note'],
        ['Billed', ({ billed }) => <Amount value={billed} />, isPlace ? 'n' : 'n at-badge'],
        ['Due', ({ due }) => <Amount value={due || null} />, 'n'],
      ]}
    />
  );
}
