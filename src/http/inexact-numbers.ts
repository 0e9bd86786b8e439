import { pointer } from './pointer.ts';

const token = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[{}[\],:]|true|false|null/g;

/**
 * Where the numbers stand that JSON.parse does not keep: more digits than a double has, or out of its range.
 *
 * @param json valid JSON
 * @returns JSON pointers
 */
export function findInexactNumbers(json: string): string[] {
  const found: string[] = [];
  const path: (string | number)[] = [];
  let key: string | undefined;
  for (const [text] of json.matchAll(token)) {
    const last = path.at(-1);
    if (text === '{') path.push('');
    else if (text === '[') path.push(0);
    else if (text === '}' || text === ']') path.pop();
    else if (text === ',' && typeof last === 'number') path[path.length - 1] = last + 1;
    else if (text === ':' && key !== undefined) path[path.length - 1] = key;
    else if (text[0] === '"') key = JSON.parse(text) as string;
    else if (/^[-\d]/.test(text) && !isExact(text)) found.push(pointer(path));
  }
  return found;
}

/** Whether the double nearest to a decimal number is written with the same digits again. */
function isExact(decimal: string): boolean {
  const value = Number(decimal);
  return Number.isFinite(value) && digits(decimal) === digits(String(value));
}

/** A decimal number as its significant digits and the power of ten of the last one: 1.50e3 is 15e2. */
function digits(decimal: string): string {
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(
    decimal,
  )!;
  const all = (whole! + fraction).replace(/^0+/, '');
  const significant = all.replace(/0+$/, '');
  if (significant === '') return '0';
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(all.length - significant.length);
  return `${sign}${significant}e${power}`;
}
