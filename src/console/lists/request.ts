import { z } from 'zod';
import type { Config } from '../../common/config/config.ts';
import { formatDay, isDay } from '../../common/days.ts';
import { formatLocal } from '../../common/local-times.ts';
import type { Core } from '../../receiver/feature.ts';
import type { Db } from '../../receiver/store/tables.ts';
import { BadInput } from '../page.ts';
import { oneOf, readForm, text } from '../read-form.ts';
import { hrefTo, type Values, type Visit } from '../ui/context.ts';
import type { List } from './definitions.ts';
import { type ListQuery, readPlaces } from './query.ts';
import { daysOfRange, type RangeName, ranges } from './ranges.ts';
import { readBusinesses } from './read.ts';

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
  { config, families }: Core,
  { aliases }: Visit,
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
  const { page, range: wanted, ...fields } = readForm(form, shape);
  const chosen: Values = readForm(
    form,
    Object.fromEntries(keysOf(list.choices).map((name) => [name, oneOf(keysOf(list.choices[name]!))])),
  );
  const texts: Values = readForm(
    form,
    Object.fromEntries(keysOf(list.given).map((name) => [name, z.string().max(4_000)])),
  );
  const given = keysOf(texts).map((name) => {
    const where = list.given[name]!.where(texts[name]!, config);
    if (!where) throw new BadInput('This address is not valid any more.');
    return where;
  });
  const businesses = await readBusinesses(db);
  const places = await readPlaces(db, fields, businesses, families, aliases);
  const filter = { ...fields, ...places, ...daysOf(list, config, wanted, fields), chosen, given, page };
  const entered = { ...fields, ...places, range: wanted, ...chosen, ...texts };
  return { list, filter, isPersonal, businesses, entered };
}

function daysOf(
  { range, hasDaysToCome }: List,
  { reportTimezone: timezone }: Config,
  wanted: RangeName | undefined,
  { from, to }: { from?: string | undefined; to?: string | undefined },
) {
  const today = formatLocal(Date.now(), timezone).slice(0, 10);
  if (from && to && to < from) throw new BadInput(`${formatDay(to)} is before ${formatDay(from)}.`);
  if (from && !hasDaysToCome && from > today) throw new BadInput('This day is yet to come.');
  const [first, last] = daysOfRange(wanted ?? range, today);
  const until = from ? (hasDaysToCome ? undefined : today) : last;
  return { from: from ?? (to ? undefined : first), to: to ?? until };
}

/** The address of a list with another selection; its first page. */
export const listHref = (list: List, fields: Values = {}) => hrefTo(`/${list.name}`, fields);
