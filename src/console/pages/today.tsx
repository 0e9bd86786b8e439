import { type QueryExecutorProvider as Db, sql } from 'kysely';
import { takesEveryEvent } from '../../callbacks/families/family.ts';
import { addDays, formatDay } from '../../common/days.ts';
import { formatLocal } from '../../common/local-times.ts';
import { viewColumn } from '../../receiver/store/view-columns.ts';
import { duesByAge, listNamed } from '../lists/definitions.ts';
import {
  type ListQuery,
  type ListRow,
  type Part,
  queryRows,
  read as readAll,
  readBusinesses,
  readGroups,
  readPatients,
  textArray,
} from '../lists/query.ts';
import { Rows } from '../lists/rows.tsx';
import { hasRole, type Page } from '../page.ts';
import { originOf } from '../sign-in/origin.ts';
import { hrefTo, useMay, useVisit } from '../ui/context.ts';
import { Hero } from '../ui/pictures.tsx';
import { sendPage } from '../ui/send-page.tsx';
import { formatAmount, formatChange, formatCount, formatCountOf, Named, sumOf } from '../ui/values.tsx';
import { createRecall } from './takings.tsx';

const shownDays = [13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1];
/** The same weekdays, which are "usual". */
const usualDays = [7, 14, 21, 28, 35, 42, 49, 56];

export const today: Page = (routes, context) => {
  const { config, families, read, logAccess } = context;
  const recall = createRecall<Collected>();

  routes.get('/today', 'viewer', async (req, res) => {
    const local = formatLocal(Date.now(), config.reportTimezone);
    const day = local.slice(0, 10);
    const isPersonal = hasRole(res, 'desk');
    const found = await read(async (db) => {
      const businesses = await readBusinesses(db);
      if (businesses.length === 0) return undefined;
      const figures = await readFigures(db, { businesses, isPersonal }, day);
      const rows = [...figures.next, ...figures.newest];
      const subjects = await readPatients(db, listNamed('receipts'), rows);
      return { figures, rows: rows.length, subjects, silent: await readSilent(db) };
    });
    if (!found) {
      const shown = families.filter((family) => family.path.isBasic || takesEveryEvent(family));
      const addresses = shown.flatMap(({ name }) =>
        (config.paths[name] ?? []).slice(0, 1).map((path) => `${originOf(req, config)}${path}`),
      );
      return sendPage(res, 'Today', <Welcome addresses={addresses} />);
    }
    const { figures, rows, subjects, silent } = found;
    if (isPersonal && rows > 0)
      await logAccess(res, { action: 'list', subjects, filter: { list: 'today' }, rows });
    // Day by day: all at once would be too long for a statement of a page.
    const before = new Map<number, Collected>();
    for (const ago of new Set([...shownDays, ...usualDays])) {
      const past = addDays(day, -ago);
      before.set(ago, await recall(past, () => read((db) => readCollected(db, past))));
    }
    sendPage(res, 'Today', <Today {...{ ...figures, before, silent, day, time: local.slice(11, 16) }} />);
  });
};

interface Collected {
  /** Null: nothing came or went back. */
  whole: number | null;
  /** Up to this time of the day. */
  soFar: number;
}

async function readCollected(db: Db, day: string): Promise<Collected> {
  const query = sql<Collected>`
    select sum(amount)::float8 as whole, coalesce(sum(amount) filter (where (paid_at at time zone reporting.timezone())::time
      <= (now() at time zone reporting.timezone())::time), 0)::float8 as "soFar"
    from reporting.payments where day = ${day}::date`;
  return (await readAll(db, query))[0]!;
}

interface Figures {
  clinics: ListRow[];
  ages: ListRow[];
  expected: { expected: number; cancelled: number };
  next: ListRow[];
  newest: ListRow[];
}

async function readFigures(
  db: Db,
  base: Pick<ListQuery, 'businesses' | 'isPersonal'>,
  today: string,
): Promise<Figures> {
  const isTodays = sql`business_id = any(${textArray(base.businesses)}) and day = reporting.today()`;
  const personal = base.isPersonal ? ['name', 'mobile', 'patient_id'] : [];
  const days = { ...base, entered: {}, from: today, to: today };
  const readRows = (name: string, from: string, special: string[], part: Part) => {
    const query = { ...days, list: listNamed(name), from };
    const columns = ['business_id', 'state', ...special, ...personal].map(viewColumn);
    return readAll(db, queryRows(query, columns, part));
  };
  const ofReceipt = ['receipt_id', 'receipt_number', 'issued_at', 'net_amount', 'delivery_id'];
  const ofAppointment = ['appointment_id', 'starts_at', 'doctor_id'];
  const isNext = sql`starts_at > now() - interval '30 minutes' and state in ('booked', 'ongoing')`;
  const expected = sql<Figures['expected']>`
    select (count(*) filter (where state not like 'cancelled%'))::int as expected,
      (count(*) filter (where state like 'cancelled%'))::int as cancelled
    from reporting.schedule where ${isTodays}`;
  return {
    clinics: await readGroups(db, { ...days, list: listNamed('takings-by-clinic') }),
    ages: await readGroups(db, { ...base, list: duesByAge, entered: {} }),
    expected: (await readAll(db, expected))[0]!,
    next: await readRows('appointments', today, ofAppointment, { limit: 6, where: isNext }),
    newest: await readRows('receipts', addDays(today, -1), ofReceipt, { limit: 8 }),
  };
}

interface Silent {
  business: string;
  since: string;
}

const readSilent = (db: Db) =>
  readAll(
    db,
    sql<Silent>`select key::jsonb->>0 as business, reporting.day(last_at)::text as since from receiver.counters
      where name = 'silence' and key like '%, true]' limit 5`,
  );

const weekdayOf = (day: string) =>
  new Date(day).toLocaleDateString('en-GB', { timeZone: 'UTC', weekday: 'long' });

function median(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const [one, other] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return one === undefined ? undefined : (one + other!) / 2;
}

interface TodayProps extends Figures {
  /** By the number of days before today. */
  before: ReadonlyMap<number, Collected>;
  silent: readonly Silent[];
  day: string;
  time: string;
}

function Today(props: TodayProps) {
  const { next, newest, expected } = props;
  const counts = `(${formatCount(expected.expected)} today, ${formatCount(expected.cancelled)} cancelled)`;
  return (
    <>
      <Takings {...props} />
      <ToDo silent={props.silent} />
      <div class="two">
        <div>
          <h2>
            <a href={hrefTo('/appointments')}>Next appointments</a> {counts} ·{' '}
            <a href={hrefTo('/appointments', { range: 'tomorrow' })}>Tomorrow</a>
          </h2>
          <Rows
            list={listNamed('appointments')}
            label="Next appointments"
            rows={next}
            empty="No more appointments are known for today."
            columns={['starts_at', 'name', 'mobile', 'doctor_id', 'state']}
          />
          <h2>
            <a href={hrefTo('/receipts', { range: 'today' })}>Newest receipts</a>
          </h2>
          <Rows
            list={listNamed('receipts')}
            label="Newest receipts"
            rows={newest}
            empty="No receipts today or yesterday."
            columns={['issued_at', 'receipt_number', 'name', 'net_amount', 'state']}
          />
        </div>
        <div>
          <h2>By clinic</h2>
          <Rows
            list={listNamed('takings-by-clinic')}
            label="Collected today, by clinic"
            rows={props.clinics.slice(0, 12)}
            entered={{ range: 'today' }}
            empty="Nothing was billed or collected today."
            columns={['clinic_id', 'collected_amount', 'net_amount', 'due_amount']}
          />
          <h2>
            <a href={hrefTo('/unpaid')}>Unpaid, by age</a>
          </h2>
          <Rows list={duesByAge} columns={duesByAge.columns} rows={props.ages} />
        </div>
      </div>
    </>
  );
}

function Takings({ clinics, before, day, time }: TodayProps) {
  const sum = (name: string) => sumOf(clinics, (row) => Number(row[name] ?? 0));
  const now = sum('collected_amount');
  // Nothing is known of days before the first payment; a later day without one is one of rest.
  const known = usualDays.findLastIndex((ago) => before.get(ago)!.whole !== null);
  const same = usualDays.slice(0, known + 1).map((ago) => before.get(ago)!);
  const usual = (part: keyof Collected) => median(same.map((past) => past[part] ?? 0));
  const change = formatChange(now, usual('soFar'));
  const weekday = weekdayOf(day);
  return (
    <Hero
      value={formatAmount(now)}
      about={`Collected on each of the last ${shownDays.length + 1} days; the line is a usual ${weekday}`}
      usual={usual('whole')}
      bars={[...shownDays, 0].map((ago) => {
        const at = addDays(day, -ago);
        const value = ago === 0 ? now : (before.get(ago)?.whole ?? 0);
        const label = `${weekdayOf(at)}, ${formatDay(at)}: ${formatAmount(value)}`;
        return { name: at.slice(8), label, value, isNow: ago === 0 };
      })}
    >
      <a href={hrefTo('/payments', { range: 'today' })}>collected</a> on {weekday}, {formatDay(day)}, until{' '}
      {time}
      <p class="soft">
        <a href={hrefTo('/receipts', { range: 'today' })}>{formatAmount(sum('net_amount'))}</a> billed ·{' '}
        <a href={hrefTo('/unpaid', { range: 'today' })}>{formatAmount(sum('due_amount'))}</a> of it due
        {change && ` · ${change} against a usual ${weekday} by now`}
      </p>
    </Hero>
  );
}

function ToDo({ silent }: { silent: readonly Silent[] }) {
  const { problems } = useVisit();
  if (!problems && silent.length === 0) return null;
  return (
    <p class="warning">
      {problems ? (
        <>
          <a href={hrefTo('/callbacks')}>{formatCountOf(problems, ['callback', 'callbacks'])}</a> could not be
          read or applied: what {problems === 1 ? 'it says is' : 'they say is'} missing below.{' '}
        </>
      ) : null}
      {silent.map(({ business, since }) => (
        <span key={business}>
          <Named kind="business" id={business} href={hrefTo('/health')} /> has sent nothing since{' '}
          {formatDay(since)}.{' '}
        </span>
      ))}
    </p>
  );
}

/** Before the first callback. An address may be a secret: operators see them. */
function Welcome({ addresses }: { addresses: readonly string[] }) {
  const callback = {
    event: 'receipt.created',
    event_time: Math.floor(Date.now() / 1000),
    business_id: 'example',
    data: { receipt_id: 1, receipt_number: 'R-1', net_amount: 450.5, amount_paid: 400, name: 'Asha Rao' },
  };
  const curl = `curl ${addresses[0]} -H 'Content-Type: application/json' -d '${JSON.stringify(callback)}'`;
  return (
    <>
      <p>No callback has come yet. What comes next:</p>
      {useMay('operator') && (
        <>
          <h2>1. Register these addresses at the platform</h2>
          {addresses.map((address) => (
            <Copy key={address} text={address} />
          ))}
          <h2>2. Or send one callback yourself</h2>
          <Copy text={curl} />
        </>
      )}
      <h2>Or look at eight weeks of an invented clinic</h2>
      <Copy text="npx receiver send --history" />
      <p class="note">All this goes with the first callback.</p>
    </>
  );
}

function Copy({ text }: { text: string }) {
  return (
    <p class="actions">
      <code>{text}</code>
      <button type="button" data-copy={text}>
        Copy
      </button>
    </p>
  );
}
