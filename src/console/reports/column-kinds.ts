import type { Family } from '../../callbacks/families/family.ts';
import { families } from '../../callbacks/families/index.ts';
import type { AliasKind } from '../../reconcile/aliases.ts';

/** A column of a table or a view, with its type as PostgreSQL's format_type writes it. */
export type TypedColumn = Record<'name' | 'type', string>;

const aliased: Record<string, AliasKind> = {
  business_id: 'business',
  bid: 'business',
  owner: 'business',
  clinic_id: 'clinic',
  facility_id: 'clinic',
  facilityid: 'clinic',
  doctor_id: 'doctor',
  doctor_oid: 'doctor',
  docid: 'doctor',
};

/** What can have an alias in a column of this name. */
export const aliasKindOf = (name: string): AliasKind | undefined => aliased[name];

export const isId = (name: string) => /(^|_)(id|oid|number|archive)$/.test(name);

const isMeasure = (name: string) => /_(seconds|hours|share|callbacks)$|^quantity$/.test(name);

export const isAmount = ({ name, type }: TypedColumn) =>
  type === 'numeric' && !isId(name) && !isMeasure(name);

/** Whether the digits of a column are to be compared, so that they stand on the right. */
export const isNumeric = ({ name, type }: TypedColumn) =>
  ['numeric', 'bigint', 'integer', 'double precision', 'interval'].includes(type) && !isId(name);

/** Whether the sum of a column says something. */
export const isSummable = (column: TypedColumn) =>
  (isAmount(column) || ['bigint', 'integer'].includes(column.type)) &&
  !isId(column.name) &&
  !/(^|_)(version|days|rate|value)(_|$)/.test(column.name);

/** Columns that hold the id of a record, and the family of that. */
const recordColumns: Record<string, string> = {
  ...Object.fromEntries(
    (families as readonly Family[]).flatMap(({ name, key }) => (key ? [[`${name}_id`, name]] : [])),
  ),
  form_id: 'consent_form',
  aid: 'appointment',
};

/** The family of the record whose id a column of this name holds. */
export const familyOfId = (name: string): string | undefined => recordColumns[name];
