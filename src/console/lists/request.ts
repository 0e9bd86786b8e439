import { sql } from 'kysely';
import { z } from 'zod';
import type { Config } from '../../common/config/config.ts';
import { formatDay, isDay } from '../../common/days.ts';
import { formatLocal } from '../../common/local-times.ts';
import type { Core } from '../../receiver/feature.ts';
import type { Db } from '../../receiver/store/tables.ts';
import { type Aliases, type AliasKind, aliasKinds, findIds } from '../../reconcile/aliases.ts';
import { BadInput } from '../page.ts';
import { oneOf, readForm, text } from '../read-form.ts';
import { hrefTo, type Values, type Visit } from '../ui/context.ts';
import type { List } from './list.ts';
import type { ListQuery } from './query.ts';
import { daysOfRange, type RangeName, ranges } from './ranges.ts';
import { read, readBusinesses } from './read.ts';

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
  const { page, range, ...fields } = readForm(form, shape);
  const choices = keysOf(list.choices).map((name) => [name, oneOf(keysOf(list.choices[name]!))]);
  const chosen: Values = readForm(form, Object.fromEntries(choices));
  const given = keysOf(list.given ?? {}).map((name) => [name, z.string().max(4_000)]);
  const texts: Values = readForm(form, Object.fromEntries(given));
  const businesses = await readBusinesses(db);
  const places = await readPlaces(db, fields, businesses, aliases);
  const days = daysOf(fields, list, range, config);
  const conditions = keysOf(texts).map((name) => list.given![name]!.where(texts[name]!, config));
  const filter = { ...places, ...days, chosen, given: conditions, page };
  return {
    list,
    filter,
    isPersonal,
    businesses,
    entered: { ...fields, ...places, range, ...chosen, ...texts },
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

type Places = Partial<Record<AliasKind, string | undefined>>;

/** Where an id of each kind may be, in views. */
const viewsOf: Record<AliasKind, readonly string[]> = {
  business: ['quarantine'],
  clinic: ['all_receipts', 'appointments'],
  doctor: ['all_receipts', 'appointments', 'prescriptions', 'consent_forms'],
};

/**
 * The ids of the places of a filter, which may be entered by name.
 *
 * @throws BadInput where several have the name, or nothing has the id: a misspelt name would have sums of nothing
 */
export async function readPlaces(
  db: Db,
  entered: Places,
  businesses: readonly string[],
  aliases: Aliases,
): Promise<Places> {
  const ids: Places = {};
  for (const kind of aliasKinds) {
    const wanted = entered[kind];
    if (!wanted) continue;
    const [id = wanted, ...others] = findIds(aliases[kind], wanted);
    if (others.length > 0)
      throw new BadInput(`${others.length + 1} names match “${wanted}”. Type more of the name.`);
    ids[kind] = id;
    if (aliases[kind].has(id) || (kind === 'business' && businesses.includes(id))) continue;
    const column = sql.ref(`${kind}_id`);
    const rows = viewsOf[kind].map(
      (view) => sql`select from ${sql.table(`reporting.${view}`)} where ${column} = ${id}`,
    );
    const [known] = await read(
      db,
      sql<{ known: boolean }>`select exists (${sql.join(rows, sql` union all `)}) as known`,
    );
    if (!known!.known) throw new BadInput(`No ${kind} is called ${id}.`);
  }
  return ids;
}

/** The address of a list with another selection; its first page. */
export const listHref = (list: List, fields: Values = {}) => hrefTo(`/${list.name}`, fields);
