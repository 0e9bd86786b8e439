import { createLog } from '../../src/common/log.ts';
import { families } from '../../src/families/index.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import { createQuarantine } from '../../src/intake/quarantine.ts';
import { applyErasures } from '../../src/privacy/erasure/apply-erasures.ts';
import { erasePatient } from '../../src/privacy/erasure/erase.ts';
import { exportErasures, parseErasures } from '../../src/privacy/erasure/erasure-list.ts';
import { previewErasure } from '../../src/privacy/erasure/preview.ts';
import type { Patient } from '../../src/privacy/find-deliveries.ts';
import { appointmentCallback, type Callback, deliveryOf, paths, samples } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { apply, clear, erasureTables } from '../support/deliveries.ts';
import { waysToName } from '../support/named-patients.ts';

const database = useDatabase();
beforeEach(async () => {
  await clear(database, ...erasureTables, 'patient_pseudonyms');
});

const actor = { id: 'tester' };
const options = { actor, keepMs: 365 * 86_400_000 };
const id = '161467756044204';
const erase = (patient: Patient = { id }, also: string[] = []) =>
  erasePatient(database.db, families, patient, { ...options, also });
const preview = (patient: Patient = { id }) => previewErasure(database.db, families, patient, options);
const count = async (from: string) => Number((await database.rows(`select count(*) from ${from}`))[0]!.count);
let number = 0;
const other = (data: object, beside: object = {}) => {
  number += 1;
  return {
    ...samples.other({ event: 'abha.consent_update', data: { number, ...data } }),
    ...beside,
  } as Callback;
};
const insert = (...callbacks: Callback[]) => insertDeliveries(database.pool, callbacks.map(deliveryOf));

/** As if a former version had stored everything. */
const asStoredBefore = () => database.rows(`update inbox set patients = '{}'`);

describe.each([
  ['', async () => {}],
  [', stored by a former version', asStoredBefore],
])('a delivery%s', (_, prepare) => {
  it.each(Object.entries(waysToName))(
    'that names the patient by %s is erased and does not come back',
    async (__, name) => {
      const { beside, data } = name(id);
      const [mine, others] = [other(data, beside), other({ patient_id: 'somebody' })];
      await apply(database, [mine, others]);
      await prepare();
      expect((await preview()).counts).toMatchObject({ deliveries: 1, other_events: 1 });
      expect((await erase()).counts).toMatchObject({ deliveries: 1, other_events: 1 });
      expect(await insert(mine, others)).toEqual(['erased', 'duplicate']);
      expect(await database.rows('select from inbox')).toHaveLength(1);
    },
  );
});

const numbers = [`${id}.0`, `${id}0e-1`, '1.61467756044204e14', '1.61467756044204000E+14'];
const namedByNumber = (key: string, number: string, rest: object) =>
  JSON.stringify({ ...rest, data: { [key]: '@' } }).replace('"@"', number);

it.each(numbers.flatMap((number) => ['patient_id', 'oid'].map((key) => [key, number] as const)))(
  'a delivery that names the patient by the number %s: %s is erased and does not come back',
  async (key, number) => {
    const rest = { event: 'x.number', event_time: 1_751_260_800, business_id: 'b' };
    const named = () => deliveryOf(JSON.parse(namedByNumber(key, number, rest)));
    const delivery = { ...named(), body: Buffer.from(namedByNumber(key, number, rest)) };
    await insertDeliveries(database.pool, [delivery]);
    expect((await erase()).counts).toMatchObject({ deliveries: 1 });
    expect(await insertDeliveries(database.pool, [delivery])).toEqual(['erased']);
  },
);

async function keepRejected(body: string): Promise<void> {
  const log = createLog('silent');
  const quarantine = createQuarantine({ families, pool: database.pool, log, limits: { bytes: 1e6 } });
  await quarantine.keep({ path: paths.receipt, reason: 'invalid', errors: [], body: Buffer.from(body) });
  await quarantine.drained();
}

describe('a rejected body', () => {
  const cut = (way: string) => {
    const { beside = {}, data } = waysToName[way]!(id);
    return JSON.stringify({ event: 'x', ...beside, data }).slice(0, -2);
  };

  it.each(['oid', 'patientId', 'Patient-ID', 'abha_number', 'beside data'])(
    'that is cut and names the patient by %s is erased and does not come back',
    async (way) => {
      await keepRejected(`${cut(way)},`);
      expect((await erase()).counts).toMatchObject({ quarantine: 1 });
      await keepRejected(`${cut(way)},`);
      expect(await count('quarantine')).toBe(0);
    },
  );

  it.each(numbers.flatMap((number) => ['', ' cut'].map((rest) => [number, rest] as const)))(
    'that names the patient by the number %s is erased and does not come back%s',
    async (number, rest) => {
      const body = `${namedByNumber('patient_id', number, {})}${rest}`;
      await keepRejected(body);
      expect((await erase()).counts).toMatchObject({ quarantine: 1 });
      await keepRejected(body);
      expect(await count('quarantine')).toBe(0);
    },
  );

  it('that names the patient with any key is erased again in a restored backup', async () => {
    const bodies = Object.keys(waysToName).map((way) => {
      const { beside = {}, data } = waysToName[way]!(id);
      return JSON.stringify({ event: 'x', ...beside, data });
    });
    for (const body of bodies) await keepRejected(body);
    expect((await erase()).counts).toMatchObject({ quarantine: bodies.length });
    const list = parseErasures(await exportErasures(database.db, actor));
    await database.rows('truncate erasures, withheld.records cascade');
    for (const body of bodies) await keepRejected(body);
    const { counts } = await applyErasures(database.db, families, list, options);
    expect(counts).toMatchObject({ quarantine: bodies.length });
    expect(await count('quarantine')).toBe(0);
  });
});

describe('a body with the id as text', () => {
  it('is listed by the preview, and is erased only where a person has named it', async () => {
    const [note, key, kept] = [
      other({ note: `seen ${id}, again` }),
      other({ list: { [id]: 1 } }),
      other({ id: `P${id}` }),
    ];
    await apply(database, [note, key, kept, other({ note: 'nothing' }), other({ patient_id: id })]);
    await keepRejected(`not json at all, patient ${id}.`);
    const { mentions, counts } = await preview();
    expect(counts).toMatchObject({ deliveries: 1, quarantine: 0 });
    const rejected = mentions.find(({ source }) => source === 'quarantine')!;
    const listed = mentions.map((mention) => mention.id).sort();
    expect(listed).toEqual([...[note, key, kept].map((one) => deliveryOf(one).id), rejected.id].sort());
    const named = [deliveryOf(note).id, deliveryOf(key).id, rejected.id];
    expect((await erase({ id }, named)).counts).toMatchObject({ deliveries: 3, quarantine: 1, withheld: 3 });
    expect([await count('inbox'), await count('other_events'), await count('quarantine')]).toEqual([2, 2, 0]);
    expect((await preview()).mentions).toEqual([{ id: deliveryOf(kept).id, source: 'deliveries' }]);
  });

  it('that is of a family, or is not there, cannot be named: nothing is erased', async () => {
    const receipt = appointmentCallback({ data: { patient_id: id } });
    await apply(database, [receipt]);
    for (const unknown of [deliveryOf(receipt).id, '018bcfe5-6800-8a3c-9f10-0123456789ab'])
      await expect(erase({ id }, [unknown])).rejects.toThrow(`is ${unknown}`);
    expect([await count('inbox'), await count('erased')]).toEqual([1, 0]);
  });
});

describe('other ids in the same callbacks', () => {
  it('are listed with their number, and stay unless a person names them', async () => {
    const both = () => appointmentCallback({ data: { patient_id: id, partner_patient_id: 'P-7' } });
    const partnerOnly = other({ partner_patient_id: 'P-7' });
    await apply(database, [
      both(),
      partnerOnly,
      other({ patient_id: id, patients: [{ patient_id: 'child' }] }),
    ]);
    expect((await preview()).beside).toEqual([
      { id: 'P-7', callbacks: 1 },
      { id: 'child', callbacks: 1 },
    ]);
    await erase();
    expect(await insert(partnerOnly, other({ patient_id: 'child' }))).toEqual(['duplicate', 'accepted']);
    expect((await erase({ id, linked: ['P-7'] })).searched).toMatchObject({ ids: 2 });
    expect(await insert(partnerOnly, both())).toEqual(['erased', 'erased']);
  });
});

it('a restored backup loses again what names the patient', async () => {
  const certain = Object.values(waysToName).map((name) => other(name(id).data, name(id).beside));
  await apply(database, certain);
  await erase();
  const list = parseErasures(await exportErasures(database.db, actor));
  await database.rows('truncate erasures, withheld.records cascade');
  await apply(database, certain);
  await asStoredBefore();
  await applyErasures(database.db, families, list, options);
  expect(await count('inbox')).toBe(0);
  expect(await insert(certain[0]!)).toEqual(['erased']);
});
