import { titled, words } from '../common/words.ts';
import type { Family } from './family.ts';

/** What people call a record of a family. */
export const titleOf = ({ title, name }: Pick<Family, 'title' | 'name'>): string => title ?? words(name);

/** What people call a field. */
export function labelOf({ shown = {} }: Pick<Family, 'shown'>, field: string): string {
  const label = Object.values(shown).find((fields) => fields[field])?.[field];
  return label ?? titled(field === 'extra' ? 'further fields' : field);
}

/** What a value of a field means to people; a value without a known meaning is itself. */
export const meaningOf = ({ fields }: Pick<Family, 'fields'>, field: string, value: string): string =>
  fields[field]?.meanings?.[value] ?? value;

/** Whether people read a field of a record. */
export const isShown = ({ shown = {} }: Pick<Family, 'shown'>, field: string): boolean =>
  Object.values(shown).some((fields) => field in fields);

const acts: Readonly<Record<string, string>> = {
  updated: 'an update',
  deleted: 'a deletion',
  statuschange: 'a change of status',
};

/** What an event did to a record: as new, by an update. */
export function actOf({ reconciledBy }: Pick<Family, 'reconciledBy'>, event: string): string {
  if (event === reconciledBy) return 'found by reconciliation';
  const act = event.split('.').slice(1).join(' ');
  if (act === 'created') return 'as new';
  return `by ${acts[act] ?? words(act || event)}`;
}
