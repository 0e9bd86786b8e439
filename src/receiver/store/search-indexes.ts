import type { Family } from '../../callbacks/families/family.ts';
import { literal, personIn, quoted } from './columns.ts';

// What a search compares, and the indexes that have it. A number, or a phone number, is found by its end: they are reversed.

export const reversedNumber = (expression: string) =>
  `reverse(reporting.number_key(${expression})) collate "C"`;
export const reversedPhone = (expression: string) =>
  `reverse(reporting.phone_key(${expression})::text) collate "C"`;
export const nameLexemes = (expression: string) => `reporting.name_lexemes(${expression})`;

/** SQL for rows of the indexes in db/reporting/6_indexes.sql. */
export function searchIndexesOf(families: readonly Family[]): string {
  const rows = families.flatMap(({ table, printedNumber, people }) => {
    const rowsOf = (paths: readonly string[], question: string, index: (value: string) => string) =>
      paths.map((path) => {
        const value = personIn(path, '');
        const definition = `${index(value)} where ${value} is not null`;
        return `(${[`${table}_${path.replace('.', '_')}`, `public.${quoted(table)}`, question, definition].map(literal).join(', ')})`;
      });
    const { names = [], phones = [] } = people ?? {};
    const numbers = printedNumber ? [printedNumber] : [];
    return [
      ...rowsOf(numbers, 'Which number ends so, without accents?', (value) => `(${reversedNumber(value)})`),
      ...rowsOf(phones, 'Whose phone number is this, or ends so?', (value) => `(${reversedPhone(value)})`),
      ...rowsOf(names, 'Who is called so, without accents?', (value) => `using gin (${nameLexemes(value)})`),
    ];
  });
  return rows.join(',\n');
}
