import type { Preview, Searched } from './erase.ts';

/** The effects of an erasure besides the rows that it erases: names and texts. */
export function describePreview({ linked, others, uncertain }: Preview): [name: string, text: string][] {
  const left = uncertain.deliveries.length + uncertain.quarantine.length;
  const texts: [string, string][] = [
    ['Other ids of the patient, erased too', linked.join(', ')],
    ['Other patients in what is erased', others.ids.join(', ')],
    ['Deliveries with a person in billing', others.billing > 0 ? String(others.billing) : ''],
    [
      'Bodies with the id as a word, hidden until a person decides',
      left > 0
        ? `${left}: ${[...uncertain.deliveries, ...uncertain.quarantine].slice(0, shown).join(', ')}`
        : '',
    ],
  ];
  return texts.filter(([, text]) => text !== '');
}

const shown = 20;

/** The search of a certificate, in a few sentences. */
export function describeSearched(searched: Searched | null): string {
  if (!searched) return 'What was searched is not known: a former version has erased.';
  const { keys, ids, words, uncertain } = searched;
  const left = uncertain === 0 ? 'None was found.' : `${uncertain} were left to a person.`;
  return (
    `Searched: ${ids} ${ids === 1 ? 'id' : 'ids'} under the keys ${keys.join(', ')} at any depth, case and separators aside; ` +
    `as words in the bodies of ${words.join(' and ')}. ${left}`
  );
}
