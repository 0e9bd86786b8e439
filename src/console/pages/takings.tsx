import { addDays, addMonths, daysBetween, monthEnd, monthStart } from '../../common/days.ts';
import { formatLocal } from '../../common/local-times.ts';
import type { Db } from '../../receiver/store/tables.ts';
import { listNamed } from '../lists/definitions.ts';
import { type ListQuery, type ListRow, readGroups } from '../lists/query.ts';
import { describeDays, nameOfMonth, ranges } from '../lists/ranges.ts';
import { Bars } from '../ui/pictures.tsx';
import { formatAmount, formatChange, sumOf } from '../ui/values.tsx';

const maxKept = 100;
const keptMs = 60_000;

/** Keeps what was read for a minute: sums of days that are over, which take long to add up and seldom change. */
export function createRecall<T>() {
  const kept = new Map<string, { at: number; value: Promise<T> }>();
  return (key: string, read: () => Promise<T>): Promise<T> => {
    const found = kept.get(key);
    if (found && found.at > Date.now() - keptMs) return found.value;
    const value = read();
    kept.delete(key);
    kept.set(key, { at: Date.now(), value });
    value.catch(() => kept.delete(key));
    if (kept.size > maxKept) kept.delete(kept.keys().next().value!);
    return value;
  };
}

/** Groups of a list of takings, beside those of the days before, below a picture of thirteen months. */
export function createTakings(timezone: string) {
  const recall = createRecall<ListRow[]>();
  const readKept = (db: Db, query: ListQuery) => {
    const { business, clinic, doctor } = query.entered;
    const key = JSON.stringify([query.list.name, query.from, query.to, business, clinic, doctor]);
    return recall(key, () => readGroups(db, query));
  };

  return async (db: Db, query: ListQuery) => {
    const { list, from, to } = query;
    const groups = await (list.isKept ? readKept : readGroups)(db, query);
    const months = listNamed('takings-by-month');
    const [first, last] = ranges[months.range](formatLocal(Date.now(), timezone).slice(0, 10));
    const shown = await readKept(db, { ...query, list: months, from: first, to: last });
    const above = groups.length > 0 && <Months {...{ shown, first: first!, open: from }} />;
    if (!from || !to || list.isKept) return { groups, above };
    const days = daysBefore(from, to);
    const before = await readKept(db, { ...query, from: days[0], to: days[1] });
    const change = formatChange(collectedIn(groups), collectedIn(before));
    return {
      groups: list.groupBy === 'day' ? groups : compare(list.groupBy!, groups, before),
      above,
      change: change && `, ${change} against ${describeDays(...days)}`,
    };
  };
}

/** The same days of the month before, for a month or its beginning; as many days before, for others. */
function daysBefore(from: string, to: string): [from: string, to: string] {
  const last = addDays(from, -1);
  if (monthStart(to) !== from) return [addDays(from, -daysBetween(from, to) - 1), last];
  const first = monthStart(last);
  const sameDay = addDays(first, daysBetween(from, to));
  return [first, to === monthEnd(from) || sameDay > last ? last : sameDay];
}

const collectedIn = (rows: readonly ListRow[]) => sumOf(rows, (row) => Number(row.collected_amount));

/** Each group with what was collected before, also where there is nothing more. */
function compare(column: string, groups: readonly ListRow[], before: readonly ListRow[]): ListRow[] {
  const earlier = new Map(before.map((row) => [row[column]!, row.collected_amount!]));
  const now = new Set(groups.map((row) => row[column]!));
  const gone = before.map((row) => row[column]!).filter((key) => !now.has(key));
  const rows: ListRow[] = [...groups, ...gone.map((key) => ({ [column]: key, collected_amount: '0' }))];
  return rows.map((row) => {
    const before_amount = earlier.get(row[column]!) ?? null;
    const change = formatChange(Number(row.collected_amount), Number(before_amount)) ?? null;
    return { ...row, before_amount, change };
  });
}

interface MonthsProps {
  shown: readonly ListRow[];
  first: string;
  /** A day of the open month. */
  open: string | undefined;
}

function Months({ shown, first, open }: MonthsProps) {
  const bars = Array.from({ length: 13 }, (_, n) => {
    const month = addMonths(first, n).slice(0, 7);
    const { net_amount: net, due_amount: due } = shown.find((row) => row.month === month) ?? {};
    const label = `${nameOfMonth(month)}: ${formatAmount(net ?? 0)} billed, ${formatAmount(due ?? 0)} due`;
    const name = nameOfMonth(month).split(' ')[0]!;
    return {
      name,
      label,
      value: Number(net ?? 0),
      failed: Number(due ?? 0),
      isNow: month === open?.slice(0, 7),
    };
  });
  return (
    <>
      <Bars about="Billed in each of the last 13 months, and what is due of it" bars={bars} />
      <p class="note">
        The picture: billed by month, and red what is due of it. Collected: what came in less what went back,
        on the day on which it did, also for older receipts and for those that were deleted later. Billed, and
        what is due of it: by the day of the receipt. Failed receipts are left out.
      </p>
    </>
  );
}
