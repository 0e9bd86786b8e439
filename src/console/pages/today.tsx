import { takesEveryEvent } from '../../callbacks/families/family.ts';
import { addDays, formatDay } from '../../common/days.ts';
import { formatLocal } from '../../common/local-times.ts';
import { listNamed } from '../lists/definitions.ts';
import { Ages } from '../lists/list-page.tsx';
import { summarize } from '../lists/query.ts';
import { readBusinesses } from '../lists/read.ts';
import { listHref } from '../lists/request.ts';
import { Rows } from '../lists/rows.tsx';
import { hasRole, type Page } from '../page.ts';
import { createRecall } from '../recall.ts';
import { originOf } from '../sign-in/origin.ts';
import { hrefTo, useMay, useVisit } from '../ui/context.ts';
import { Hero, shareColumn } from '../ui/pictures.tsx';
import { sendPage } from '../ui/send-page.tsx';
import { Table } from '../ui/table.tsx';
import {
  Amount,
  formatAmount,
  formatChange,
  formatCount,
  formatCountOf,
  Named,
  Nothing,
  sumOf,
} from '../ui/values.tsx';
import {
  type Collected,
  type Figures,
  readCollected,
  readFigures,
  readSilent,
  type Silent,
} from './today-figures.ts';

/** The days that the picture shows, with today. */
const shownDays = 14;
/** The same weekdays before today that are "usual", in days before it. */
const usualDays = [7, 14, 21, 28, 35, 42, 49, 56];

export const today: Page = (routes, context) => {
  const { config, families, read, logAccess } = context;
  const recallBefore = createRecall<Collected[]>();

  routes.get('/today', 'viewer', async (req, res) => {
    const local = formatLocal(Date.now(), config.reportTimezone);
    const day = local.slice(0, 10);
    const isPersonal = hasRole(res, 'desk');
    const found = await read(async (db) => {
      const businesses = await readBusinesses(db);
      if (businesses.length === 0) return undefined;
      const base = { businesses, isPersonal };
      const figures = await readFigures(db, base, day);
      const rows = [...figures.next, ...figures.newest];
      const named = { ...base, list: listNamed('receipts'), filter: {} };
      const { patients: subjects } = await summarize(db, named, rows);
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
    const shown = Array.from({ length: shownDays - 1 }, (_, n) => n + 1);
    const collected = [...figures.collected];
    // Day by day: all at once would be too long for a statement of a page.
    for (const ago of new Set([...shown, ...usualDays])) {
      const readBefore = () => read((db) => readCollected(db, addDays(day, -ago)));
      collected.push(...(await recallBefore(`${ago} before ${day}`, readBefore)));
    }
    sendPage(res, 'Today', <Today {...{ ...figures, collected, silent, day, time: local.slice(11, 16) }} />);
  });
};

const weekdayOf = (day: string) =>
  new Date(day).toLocaleDateString('en-GB', { timeZone: 'UTC', weekday: 'long' });

function median(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const [one, other] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return one === undefined ? undefined : (one + other!) / 2;
}

/** Sums of a clinic, or of all: what was collected, and what is usual on such a weekday. */
function collectedOf(rows: readonly Collected[]) {
  const sum = (ago: number, key: 'whole' | 'soFar') => sumOf(rows, (row) => (row.ago === ago ? row[key] : 0));
  const weeks = usualDays.filter((ago) => rows.some((row) => row.ago === ago));
  return {
    now: sum(0, 'soFar'),
    usual: median(weeks.map((ago) => sum(ago, 'soFar'))),
    usualDay: median(weeks.map((ago) => sum(ago, 'whole'))),
    days: Array.from({ length: shownDays }, (_, n) => sum(shownDays - 1 - n, 'whole')),
  };
}

interface TodayProps extends Figures {
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
            <a href={listHref(listNamed('appointments'))}>Next appointments</a> {counts} ·{' '}
            <a href={listHref(listNamed('appointments'), { range: 'tomorrow' })}>Tomorrow</a>
          </h2>
          <Rows
            list={listNamed('appointments')}
            label="Next appointments"
            rows={next}
            empty="No more appointments are known for today."
            columns={['starts_at', 'name', 'mobile', 'doctor_id', 'state']}
          />
          <h2>
            <a href={listHref(listNamed('receipts'), { range: 'today' })}>Newest receipts</a>
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
          <Clinics {...props} />
          <h2>
            <a href={listHref(listNamed('unpaid'))}>Unpaid, by age</a>
          </h2>
          <Ages ages={props.ages} />
        </div>
      </div>
    </>
  );
}

function Takings({ collected, billed, day, time }: TodayProps) {
  const { now, usual, usualDay, days } = collectedOf(collected);
  const net = sumOf(billed, (row) => row.net);
  const due = sumOf(billed, (row) => row.due);
  const change = formatChange(now, usual);
  const weekday = weekdayOf(day);
  return (
    <Hero
      value={formatAmount(now)}
      about={`Collected on each of the last ${shownDays} days; the line is a usual ${weekday}`}
      usual={usualDay}
      bars={days.map((value, n) => {
        const at = addDays(day, n - shownDays + 1);
        const label = `${weekdayOf(at)}, ${formatDay(at)}: ${formatAmount(value)}`;
        return { label, value, isNow: at === day };
      })}
    >
      <a href={hrefTo('/payments')}>collected</a> on {weekday}, {formatDay(day)}, until {time}
      <p class="soft">
        of {formatAmount(net)} billed ·{' '}
        <a href={listHref(listNamed('receipts'), { range: 'today' })}>{formatAmount(due)} due</a>
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

function Clinics({ collected, billed }: TodayProps) {
  const today = [...collected.filter(({ ago }) => ago === 0), ...billed];
  const rows = [...new Set(today.map(({ clinic }) => clinic))]
    .map((clinic) => ({
      clinic,
      ...collectedOf(collected.filter((row) => row.clinic === clinic)),
      due: billed.find((row) => row.clinic === clinic)?.due ?? 0,
    }))
    .toSorted((one, other) => other.now - one.now)
    .slice(0, 12);
  return (
    <>
      <h2>By clinic</h2>
      <Table
        label="Collected today, by clinic"
        rows={rows}
        empty="Nothing was billed or collected today."
        columns={[
          [
            'Clinic',
            ({ clinic: id }) =>
              id ? <Named kind="clinic" id={id} href={hrefTo('/payments', { clinic: id })} /> : 'No clinic',
          ],
          shareColumn(rows, ({ now }) => now),
          ['Collected', ({ now }) => <Amount value={now} />, 'n'],
          ['Usual', ({ now, usual }) => formatChange(now, usual) ?? <Nothing />, 'n'],
          ['Due', ({ due }) => <Amount value={due} />, 'n'],
        ]}
      />
    </>
  );
}

/** Before the first callback. An address may be a secret: operators see them. */
function Welcome({ addresses }: { addresses: readonly string[] }) {
  return (
    <>
      <p>No callback has come yet. This page fills with the first one.</p>
      {useMay('operator') && (
        <>
          <h2>Register these addresses at the platform</h2>
          {addresses.map((address) => (
            <p key={address}>
              <code>{address}</code>
            </p>
          ))}
        </>
      )}
      <h2>Or look at eight weeks of an invented clinic</h2>
      <p>
        <code>npx receiver send --history</code>
      </p>
    </>
  );
}
