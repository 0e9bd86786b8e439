import { z } from 'zod';
import type { Config } from '../../common/config/config.ts';
import { formatDay, isDay } from '../../common/days.ts';
import { formatLocal } from '../../common/local-times.ts';
import type { Core } from '../../receiver/feature.ts';
import type { Db } from '../../receiver/store/tables.ts';
import { BadInput } from '../page.ts';
import { oneOf, readForm, text } from '../read-form.ts';
import type { Values } from '../ui/context.ts';
import type { List } from './list.ts';
import { type ListQuery, readBusinesses } from './query.ts';
import { daysOfRange, type RangeName, ranges } from './ranges.ts';

/** The database reads the rows of the pages before, too. */
export const maxPages = 100;

const keysOf = <Key extends string>(record: Readonly<Record<Key, unknown>>) => Object.keys(record) as Key[];

export interface ListRequest extends ListQuery {
  /** The address of its first page. */
  entered: Values;
}

const oneDay = z.string().refine(isDay, 'Enter a day such as 2026-11-21.');

/** Reads the address of a list. `from` and `to` are both included, and take precedence over a range. @throws BadInput */
export async function readListRequest(
  db: Db,
  list: List,
  form: Record<string, unknown>,
  { config }: Core,
  isPersonal: boolean,
): Promise<ListRequest> {
  const shape = {
    from: oneDay,
    to: oneDay,
    range: oneOf(keysOf(ranges)),
    business: text,
    clinic: text,
    doctor: text,
    page: z.coerce.number('Unknown page.').int().min(1).max(maxPages, `There are ${maxPages} pages at most.`),
  };
  const { page, range, ...fields } = readForm(form, shape);
  const choices = keysOf(list.choices).map((name) => [name, oneOf(keysOf(list.choices[name]!))]);
  const chosen: Values = readForm(form, Object.fromEntries(choices));
  const given = keysOf(list.given ?? {}).map((name) => [name, z.string().max(4_000)]);
  const texts: Values = readForm(form, Object.fromEntries(given));
  const businesses = await readBusinesses(db);
  const days = daysOf(fields, list, range, config);
  const conditions = keysOf(texts).map((name) => list.given![name]!.where(texts[name]!, config));
  const filter = { ...fields, ...days, chosen, given: conditions, page };
  return {
    list,
    filter,
    isPersonal,
    businesses,
    entered: { ...fields, range, ...chosen, ...texts },
  };
}

type Days = Partial<Record<'from' | 'to', string | undefined>>;

function daysOf(
  { from, to }: Days,
  { range, hasDaysToCome }: List,
  wanted: RangeName | undefined,
  config: Config,
): Days {
  const today = formatLocal(Date.now(), config.reportTimezone).slice(0, 10);
  if (from && to && to < from) throw new BadInput(`${formatDay(to)} is before ${formatDay(from)}.`);
  if (from && from > today && !hasDaysToCome) throw new BadInput('This day is yet to come.');
  if (from || to) return { from, to };
  const [first, last] = daysOfRange(wanted ?? range, today);
  return { from: first, to: last };
}
