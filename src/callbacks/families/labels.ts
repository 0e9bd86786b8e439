import { titled, words } from '../../common/words.ts';
import type { Family } from './family.ts';

/** What people call a record of a family. */
export const titleOf = ({ title, name }: Pick<Family, 'title' | 'name'>): string => title ?? words(name);

/** What people call a field. */
export const labelOf = ({ shown = {} }: Pick<Family, 'shown'>, field: string): string =>
  Object.values(shown).find((fields) => fields[field])?.[field] ?? titled(field);

/** What a value of a field means to people; a value without a known meaning is itself. */
export const meaningOf = ({ fields }: Pick<Family, 'fields'>, field: string, value: string): string =>
  fields[field]?.meanings?.[value] ?? value;
