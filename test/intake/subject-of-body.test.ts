import fc from 'fast-check';
import { patientsNamedIn } from '../../src/intake/subject-of-body.ts';

const find = (text: string) => patientsNamedIn(Buffer.from(text));

it('finds the patients of a body in any of the three spellings, wherever they are', () => {
  const spelling = fc.constantFrom('patient_oid', 'patientid', 'patient_id');
  const id = fc
    .string({ unit: 'grapheme', minLength: 1 })
    .filter((text) => !text.includes('\0') && text.trim() === text);
  fc.assert(
    fc.property(spelling, id, fc.boolean(), (name, patient, isPretty) => {
      const body = { a: [{ [name]: patient }], name: 'patient_id', patient_id: '' };
      expect(find(JSON.stringify(body, null, isPretty ? 2 : 0))).toEqual([patient]);
    }),
  );
});

it('needs no valid JSON', () => {
  expect(find('{"patient_oid" : 15, "patientid":\n"a\\"b", "patient_id": "x')).toEqual(['15', 'a"b']);
  expect(find('{"patient_id":"a\\u0000b","patientid":"\\x"')).toEqual(['ab', '\\x']);
  expect(find('<html>patient_oid "x"')).toEqual([]);
});
