// Texts as a search compares them, in TypeScript, and by the same rules in SQL.

// Digits of scripts of India and of Arabic; dashes; invisible characters, such as joiners; accents of Latin letters.
const zeros = [0x660, 0x6f0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66];
const dashes = '\u2010\u2011\u2012\u2013\u2014\u2015\u2212';
const invisible =
  '\u00ad\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\ufeff';
const accents = String.fromCharCode(...Array.from({ length: 0x70 }, (_, n) => 0x300 + n));
const from = `${zeros.map((zero) => String.fromCharCode(...Array.from('0123456789', (_, n) => zero + n))).join('')}${dashes}${invisible}${accents}`;
const to = '0123456789'.repeat(zeros.length) + '-'.repeat(dashes.length);
const folded = new Map(Array.from(from, (character, n) => [character, to[n] ?? '']));

/** NFKD, with ASCII digits and dashes, without accents and invisible characters. */
export const plain = (text: string) =>
  Array.from(text.normalize('NFKD'), (character) => folded.get(character) ?? character).join('');

/** SQL for a text as plain text. Without a sub-select, so that an index may have it. */
const plainOf = (expression: string, make: (text: string) => string) =>
  `case when octet_length(${expression}) = length(${expression}) then ${make(expression)}
    else ${make(`translate(normalize(${expression}, NFKD), '${from}', '${to}')`)} end`;

// Without case, spaces and signs: JA-2671 is ja 2671. Of ASCII alone, so that PostgreSQL does the same in any locale.
const signs = ' -/._,:#';
export const numberKey = (text: string) =>
  plain(text)
    .replace(/[A-Z]/g, (letter) => letter.toLowerCase())
    .replace(/[ \-/._,:#]/g, '');
export const numberKeyOf = (expression: string) =>
  plainOf(
    expression,
    (text) => `translate(${text}, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ${signs}', 'abcdefghijklmnopqrstuvwxyz')`,
  );

// Dr. Rao; O'Brien, with any apostrophe; Rao, Asha; and the sign of abbreviation of Devanagari.
const marks = `.,'’‘ʼ"()/॰-`;
const markList = `'${marks.replaceAll("'", "''")}'`;
const eachMark = new RegExp(`[${marks}]`, 'g');
// With digits, too: Twin 1 of Asha; rao & sons. A vowel sign counts as a second letter.
const personName = new RegExp(`^\\p{L}(?=.*[\\p{L}\\p{M}])[\\p{L}\\p{M}\\d\\s&${marks}]+$`, 'su');
export const isName = (text: string) => personName.test(plain(text));

/** The words of a text, where marks are blanks, and where they are nothing. */
export const wordsOf = (text: string): [string[], string[]] =>
  [' ', ''].map((instead) => plain(text).replace(eachMark, instead).split(/\s+/).filter(Boolean)) as [
    string[],
    string[],
  ];

// In characters: also where they become more of them. PostgreSQL's longest word has 2,046 bytes.
const maxName = 500;

/** SQL for the words of a name, without case: where marks are blanks, and where they are nothing. */
export const wordsIn = (expression: string) => {
  const texts = plainOf(
    `left(${expression}, ${maxName})`,
    (text) =>
      `translate(left(${text}, ${maxName}), ${markList}, '${' '.repeat(marks.length)}') || ' ' || translate(left(${text}, ${maxName}), ${markList}, '')`,
  );
  return `array_to_tsvector(array_remove(string_to_array(lower(${texts}), ' '), ''))`;
};

export const escapeLike = (text: string) => text.replace(/[\\%_]/g, '\\$&');

/** For regular expressions of JavaScript and of PostgreSQL. */
export const escapeRegExp = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
