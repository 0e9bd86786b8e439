import type { Response } from 'express';
import { z } from 'zod';
import type { Config } from '../../common/config/config.ts';
import { formatDay, isDay } from '../../common/days.ts';
import { formatLocal } from '../../common/local-times.ts';
import type { Db } from '../../receiver/store/tables.ts';
import { BadInput, hasRole } from '../page.ts';
import { subjectsOfHandle } from '../patient-handle.ts';
import { oneOf, readForm, text } from '../read-form.ts';
import type { Values } from '../ui/context.ts';
import type { List } from './list.ts';
import { type ListQuery, readBusinesses } from './query.ts';
import { type RangeName, ranges } from './ranges.ts';

/** The database reads the rows of the pages before, too. */
export const maxPages = 100;

const keysOf = <Key extends string>(record: Readonly<Record<Key, unknown>>) => Object.keys(record) as Key[];

const oneDay = z.string().refine(isDay, 'Enter a day such as 2026-11-21.');

/** Reads the address of a list. `from` and `to` are both included, and take precedence over a range. @throws BadInput */
export async function readListQuery(db: Db, list: List, res: Response, config: Config): Promise<ListQuery> {
  const form = res.req.query;
  const { page, ...fields } = readForm(form, {
    from: oneDay,
    to: oneDay,
    business: text,
    clinic: text,
    doctor: text,
    range: oneOf(keysOf(ranges)),
    page: z.coerce.number('Unknown page.').int().min(1).max(maxPages, `There are ${maxPages} pages at most.`),
  });
  const choices = keysOf(list.choices).map((name) => [name, oneOf(keysOf(list.choices[name]!))]);
  const texts = keysOf(list.given ?? {}).map((name) => [name, z.string().max(4_000)]);
  const filters: Values = readForm(form, Object.fromEntries([...choices, ...texts]));
  const given = Object.entries(list.given ?? {}).flatMap(([name, { where }]) =>
    filters[name] ? where(filters[name], config) : [],
  );
  return {
    list,
    entered: { ...fields, ...filters },
    ...daysOf(fields, list, config),
    given,
    about: filters.patient ? subjectsOfHandle(config, filters.patient) : [],
    page,
    isPersonal: hasRole(res, 'desk'),
    businesses: await readBusinesses(db),
  };
}

type Days = Pick<ListQuery, 'from' | 'to'>;

function daysOf(
  { from, to, range }: Days & { range?: RangeName | undefined },
  list: List,
  config: Config,
): Days {
  const today = formatLocal(Date.now(), config.reportTimezone).slice(0, 10);
  if (from && to && to < from) throw new BadInput(`${formatDay(to)} is before ${formatDay(from)}.`);
  if (from && from > today && !list.hasDaysToCome) throw new BadInput('This day is yet to come.');
  if (from || to) return { from, to };
  const [first, last] = ranges[range ?? list.range](today);
  return { from: first, to: last };
}

/** What the access log has of the selection. An id that selects no row may be anything that was typed. */
export function describeAccess(query: ListQuery, rows: number, patients: readonly string[], details = {}) {
  const { list, entered, from, to, page, about = [] } = query;
  const { business, clinic, doctor, person } = entered;
  const chosen = Object.keys(list.choices).map((name) => [name, entered[name]]);
  const ids = rows > 0 ? { business, clinic, doctor, person } : {};
  return {
    filter: { list: list.name, ...details, ...Object.fromEntries(chosen), from, to, page },
    ids,
    subjects: [...patients, ...about],
    rows,
  };
}
