import { z } from 'zod';
import type { Config } from '../../common/config/config.ts';
import { daysBetween, formatDay, isDay } from '../../common/days.ts';
import { formatLocal } from '../../common/local-times.ts';
import type { Aliases } from '../../reconcile/aliases.ts';
import { named, oneOf, parseForm } from '../read-form.ts';
import { hrefTo, type Values } from '../ui/context.ts';
import type { List } from './definitions.ts';
import type { ListFilter } from './query.ts';
import { ages, daysOfRange, type RangeName, ranges } from './ranges.ts';

/** The database reads the rows of the pages before, too. */
export const maxPages = 100;

const keysOf = <Key extends string>(record: Readonly<Record<Key, unknown>>) => Object.keys(record) as Key[];

export interface ListRequest {
  filter: ListFilter;
  /** Undefined where other days are entered. */
  range: RangeName | undefined;
  entered: Values;
  faults: Record<string, string>;
}

/** Reads the address of a list. `from` and `to` are both included, and take precedence over a range. */
export function readListRequest(
  form: Record<string, unknown>,
  list: List,
  config: Config,
  aliases: Aliases | undefined,
): ListRequest {
  const { reportTimezone: timezone } = config;
  const oneDay = z.string().refine(isDay, 'Enter a day such as 2026-11-21.');
  const sortable = list.columns.flatMap((name) => [name, `-${name}`]);
  const shape = {
    from: oneDay,
    to: oneDay,
    range: oneOf(keysOf(ranges)),
    business: named('business'),
    clinic: named('clinic'),
    doctor: named('doctor'),
    age: oneOf(keysOf(ages)),
    state: oneOf(keysOf(list.states ?? {})),
    sort: oneOf(sortable),
    page: z.coerce.number('Unknown page.').int().min(1).max(maxPages, `There are ${maxPages} pages at most.`),
  };
  const { data, entered, faults } = parseForm(form, shape, aliases);
  const own = parseForm(form, {
    ...Object.fromEntries(keysOf(list.choices).map((name) => [name, oneOf(keysOf(list.choices[name]!))])),
    ...Object.fromEntries(keysOf(list.given).map((name) => [name, z.string().max(4_000)])),
  });
  Object.assign(entered, own.entered);
  Object.assign(faults, own.faults);
  const chosen = Object.fromEntries(
    Object.entries(own.data).flatMap(([name, value]) => (list.choices[name] ? [[name, value!]] : [])),
  );
  const given = Object.entries(own.data).flatMap(([name, text]) => {
    const where = list.given[name]?.where(text!, config);
    if (list.given[name] && !where) faults[name] = 'This address is not valid any more.';
    return where ?? [];
  });
  const { range: wanted, ...others } = data;
  const usual = wanted ?? list.range;
  const today = formatLocal(Date.now(), timezone).slice(0, 10);
  const [first, last] = daysOfRange(usual, today);
  const from = data.from ?? (data.to ? undefined : first);
  const until = data.from ? (list.hasDaysToCome ? undefined : today) : last;
  if (data.from && data.to && daysBetween(data.from, data.to) < 0)
    faults.to = `This is before ${formatDay(data.from)}.`;
  if (data.from && !list.hasDaysToCome && daysBetween(today, data.from) > 0)
    faults.from = 'This day is yet to come.';
  return {
    filter: { ...others, chosen, given, from, to: data.to ?? until },
    range: data.from || data.to ? undefined : usual,
    entered,
    faults,
  };
}

/** The address of a list with another selection; its first page. */
export const listHref = (list: List, fields: Values = {}) =>
  hrefTo(`/${list.name}`, { ...fields, page: undefined });
