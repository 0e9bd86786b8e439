const spellings = ['patient_oid', 'patientid', 'patient_id'];

/** The ids of patients in the data of a callback, or in a row of a family's table. */
export function patientsIn(values: object): string[] {
  return Object.entries(values)
    .filter(([name, value]) => spellings.includes(name) && value !== null && value !== '')
    .map(([, value]) => String(value));
}

const inText = new RegExp(`"(?:${spellings.join('|')})"\\s*:\\s*(?:"((?:[^"\\\\]|\\\\.)+)"|(-?\\d+))`, 'g');

/** The ids of patients in a body, which need not be valid JSON. */
export function patientsInText(text: string): string[] {
  return Array.from(text.matchAll(inText), ([, quoted, number]) => (quoted ? readQuoted(quoted) : number!));
}

// PostgreSQL's text cannot hold U+0000.
function readQuoted(quoted: string): string {
  try {
    return JSON.parse(`"${quoted}"`).replaceAll('\0', '');
  } catch {
    return quoted.replaceAll('\0', '');
  }
}
