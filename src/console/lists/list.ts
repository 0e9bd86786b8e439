import { type RawBuilder, sql } from 'kysely';
import type { Config } from '../../common/config/config.ts';
import type { Role } from '../../common/config/value-types.ts';
import { type AliasKind, aliasKinds } from '../../reconcile/aliases.ts';
import type { Values } from '../ui/context.ts';
import type { ListRow } from './query.ts';
import type { RangeName } from './ranges.ts';

type Sql = RawBuilder<unknown>;

export type Links = Readonly<Record<string, (row: ListRow, entered: Values) => string | undefined>>;

/** A list of records: a page, and a file for Excel and for programs. What a column is, receiver/store/view-columns.ts says. */
export interface List {
  /** Its address, and the name of its files. */
  name: string;
  title: string;
  unit: readonly [one: string, more: string];
  /** The list beside which it is a tab, with the name of its tab. */
  tab?: readonly [of: string, name: string];
  /** The least role, if it is not viewer. Reading a list of `privacy` is an entry of the access log for everybody. */
  role?: Role;
  source: Sql;
  /** The columns of the page and of Excel, in their order. */
  columns: readonly string[];
  /** More columns of the file for programs. */
  also: readonly string[];
  links?: Links;
  words?: Readonly<Record<string, (value: string) => string>>;
  /** A row has all that is equal in this column, and sums in the others. It is compared with the days before. */
  groupBy?: string;
  /** Its rows may be a minute old. */
  isKept?: true;
  /** No two rows are equal in it, so that pages do not overlap. */
  order: string;
  /** The indexes below begin with the business, so that a query has to name one. */
  leadsWithBusiness?: true;
  /** It has a column `day`; these are shown unless others are asked for. */
  range: RangeName;
  hasDaysToCome?: true;
  places: readonly AliasKind[];
  /** Columns that are filters: with their values and what these are called. */
  choices: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Filters by a text: by one that is typed, or, without a label, by one of a link. `where` throws BadInput. */
  given?: Readonly<
    Record<string, { label?: string; shown: string; where: (text: string, config: Config) => Sql }>
  >;
  /** Conditions that follow from a state, and for which there is an index. */
  narrowed?: Readonly<Record<string, Sql>>;
  isUnsummed?: true;
  /** The places of columns in the two lines of a row on a phone: title, amount, note, badge; phone is below. In a definition they are marks, `name:note`. */
  phone: Readonly<Record<string, string | undefined>>;
  /** The columns by which the access log knows whose rows were shown. */
  subjects: readonly ('patient_id' | 'delivery_id')[];
}

type Texts = { columns: string; also?: string; source: string | Sql };
export type Definition = Pick<List, 'name' | 'title' | 'unit' | 'order'> &
  Partial<Omit<List, keyof Texts | 'phone'>> &
  Texts;

const split = (names: string) => names.split(/\s+/).filter(Boolean);

export const defineList = ({ source, columns, also = '', ...list }: Definition): List => {
  const marked = split(columns).map((column) => column.split(':') as [name: string, place?: string]);
  const [shown, more] = [marked.map(([name]) => name), split(also)];
  return {
    range: 'last_30_days',
    choices: {},
    ...list,
    source: typeof source === 'string' ? sql.raw(source) : source,
    columns: shown,
    also: more,
    phone: Object.fromEntries(marked),
    places: aliasKinds.filter((kind) => list.groupBy || [...shown, ...more].includes(`${kind}_id`)),
    subjects: (['patient_id', 'delivery_id'] as const).filter((name) => more.includes(name)),
  };
};
