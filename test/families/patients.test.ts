import { patientFields, patientsBeyond, patientsIn } from '../../src/families/index.ts';
import { samples } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { moreEvents, waysToName } from '../support/named-patients.ts';

const database = useDatabase();

const ways = Object.entries(waysToName);
const envelopes: { data: object }[] = [
  ...ways.map(([, name]) => {
    const { beside = {}, data } = name('161467756044204');
    return { event: 'x', ...beside, data };
  }),
  ...Object.entries(moreEvents).map(([event, data]) => ({ event, data })),
  ...Object.values(samples).map((sample) => sample()),
  { data: { patient_id: 42, oid: 42 } },
  { data: { patient_id: '', pid: 'x' } },
  { data: { patient_id: { id: 'inside' }, patient: null, patients: [null, true, ['deep']] } },
  { data: { patient: 'x'.repeat(300), OID: 'y', 'abha.number': '91-1234' } },
];

it.each(ways)('a patient is named by %s, whose id is found, trimmed', (_, name) => {
  const { beside = {}, data } = name('161467756044204');
  expect(patientsIn({ ...beside, data })).toContain('161467756044204');
});

it('a doctor, an actor and a document are no patient', () => {
  const data = {
    doctor_oid: '1',
    actor_oid: '2',
    docid: '3',
    id: '4',
    owner: '5',
    document_id: '6',
    ipid: '7',
  };
  expect(patientsIn({ data })).toEqual([]);
});

it('the database reads the same patients from what a former version has stored', async () => {
  for (const envelope of envelopes) {
    const [row] = await database.rows(
      'select patients_beyond($1::jsonb) as beyond, patients_of($1::jsonb, patients_beyond($1::jsonb)) as all',
      [JSON.stringify(envelope)],
    );
    const sorted = (ids: unknown) => ids && [...(ids as string[])].toSorted();
    const data = envelope.data as Record<string, unknown>;
    const main = patientFields.map((field) => data[field]).find((id) => id !== undefined && id !== '');
    // The database sees how a number was written: 42 needs no other entry, 42.0 does.
    const isPlain = row!.beyond === null && typeof main === 'number';
    const expected = isPlain ? [String(main)] : row!.beyond;
    expect([envelope, sorted(patientsBeyond(envelope)) ?? null]).toEqual([envelope, sorted(expected)]);
    if (typeof main === 'string') expect(row!.all).toContain(main.trim());
  }
});

it('a body of any depth is read in linear time, without a stack', () => {
  const depth = 60_000;
  const deep = JSON.parse(`${'{"a":['.repeat(depth)}{"oid":"x"}${']}'.repeat(depth)}`);
  expect(patientsIn({ data: deep })).toEqual(['x']);
});
