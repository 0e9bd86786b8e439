import { createLog } from '../../src/common/log.ts';
import { families } from '../../src/families/index.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import { createQuarantine } from '../../src/intake/quarantine.ts';
import { applyErasures } from '../../src/privacy/erasure/apply-erasures.ts';
import { erasePatient } from '../../src/privacy/erasure/erase.ts';
import { exportErasures, listCertificates, parseErasures } from '../../src/privacy/erasure/erasure-list.ts';
import { previewErasure } from '../../src/privacy/erasure/preview.ts';
import { decide, readUncertain, readUncertainBody } from '../../src/privacy/erasure/uncertain.ts';
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
const options = { actor, keepMs: 365 * 86_400_000, keepsTotals: true };
const id = '161467756044204';
const erase = (patient: Patient = { id }) => erasePatient(database.db, families, patient, options);
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
const asStoredBefore = () => database.rows(`update inbox set patients = '{}'; delete from body_words`);

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
      expect(await count('uncertain_bodies')).toBe(0);
    },
  );

  it('with the id as a word is left to a person: in no table until one decides', async () => {
    const unclear = [
      other({ note: `seen ${id}, again` }),
      other({ list: { [id]: true } }),
      other({ context: `${id}-2026` }),
      other({ padded: `00${id}` }),
      other({ link: `https://a.example/?next=%2Fp%2F${id}` }),
      other({ link: `https://a.example/?next=%252Fp%252F${id}` }),
      other({ prefixed: `P${id}`, number: 1 }),
      other({ grouped: id.match(/.{5}/g)!.join('-') }),
      other({ invisible: `${id.slice(0, 7)}\u200b${id.slice(7)}` }),
      other({ wide: Array.from(id, (digit) => String.fromCharCode(0xff10 + Number(digit))).join('') }),
    ];
    const clear = [other({ amount: `9${id}` }), other({ note: 'nothing' })];
    await apply(database, [...unclear, ...clear]);
    await prepare();
    const { uncertain, counts } = await preview();
    expect([uncertain.deliveries.length, counts.deliveries]).toEqual([10, 0]);
    expect((await erase()).searched).toMatchObject({ ids: 1, uncertain: 10 });
    for (const table of ['inbox', 'other_events', 'deliveries'])
      expect([table, await count(table)]).toEqual([table, 2]);
    expect(await readUncertain(database.db, 20)).toHaveLength(10);
    expect(await listCertificates(database.db)).toMatchObject([{ undecided: 10 }]);
  });
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
    expect(await count('uncertain_bodies')).toBe(0);
  },
);

it('an id with hyphens is found as a word without them', async () => {
  await apply(database, [other({ note: '91123456789012' }), other({ note: '91-1234-5678-9012' })]);
  expect((await erase({ id: '91-1234-5678-9012' })).searched).toMatchObject({ uncertain: 2 });
  expect(await count('inbox')).toBe(0);
});

it('the differences found in a body that is left to a person go with it', async () => {
  const unclear = { ...other({}), event: `x.${id}` } as Callback;
  await apply(database, [unclear]);
  await database.rows(`insert into schema_drift (event, field, kind, value, count, first_seen, last_seen, example_delivery)
    values ('x.${id}', '/event', 'unknown', '', 1, now(), now(), '${deliveryOf(unclear).id}')`);
  expect((await erase()).searched).toMatchObject({ uncertain: 1 });
  expect(await count('schema_drift')).toBe(0);
});

it('a short id refuses nothing by a word', async () => {
  await apply(database, [other({ patient_id: '12' })]);
  await erase({ id: '12' });
  const later = other({ quantity: 12 });
  expect(await insert(later, other({ day: '2026-11-12' }))).toEqual(['accepted', 'accepted']);
  expect(await count('inbox')).toBe(1);
  expect(await readUncertain(database.db, 10)).toMatchObject([{ id: deliveryOf(later).id, source: 'inbox' }]);
});

it('what a later event says with the id as a word comes in as usual', async () => {
  await erase();
  expect(await insert({ ...other({ note: id }), event_time: 2_000_000_000 })).toEqual(['accepted']);
  expect(await count('inbox')).toBe(1);
});

describe('a person', () => {
  const callback = () => other({ note: `patient ${id}`, amount: 0.1 });
  const decideOn = async (decision: 'erase' | 'keep') => {
    const [body] = await readUncertain(database.db, 1);
    const chosen = { id: body!.id, erasureId: body!.erasure_id, decision };
    return decide(database.db, families, chosen, options);
  };

  it('sees the body, and keeps it: it is stored again, and a resend is a duplicate', async () => {
    const one = callback();
    await apply(database, [one]);
    const { id: erasureId } = await erase();
    const shown = await readUncertainBody(database.db, deliveryOf(one).id, erasureId);
    expect(JSON.parse(shown!.body)).toEqual(one);
    expect(await decideOn('keep')).toBe(true);
    expect(await database.rows('select envelope from inbox')).toEqual([{ envelope: one }]);
    expect(await count('pending_deliveries')).toBe(1);
    expect(await insert(one)).toEqual(['duplicate']);
    expect(await database.rows('select decision, content from uncertain_bodies')).toEqual([
      { decision: 'keep', content: null },
    ]);
  });

  it('erases it: it is withheld, destroyed when it is due, and does not come back', async () => {
    const one = callback();
    await apply(database, [one]);
    await erase();
    expect(await decideOn('erase')).toBe(true);
    expect(await database.rows('select source from withheld.records')).toEqual([{ source: 'inbox' }]);
    await insert(one);
    expect([await count('inbox'), (await readUncertain(database.db, 1)).length]).toEqual([0, 0]);
    expect(await listCertificates(database.db)).toMatchObject([{ destroyed_at: null, undecided: 0 }]);
  });

  it('decides once, with an entry in the access log', async () => {
    await apply(database, [callback()]);
    await erase();
    const [body] = await readUncertain(database.db, 1);
    await decideOn('keep');
    const chosen = { id: body!.id, erasureId: body!.erasure_id, decision: 'erase' } as const;
    expect(await decide(database.db, families, chosen, options)).toBe(false);
    expect(await database.rows('select action, actor from access_log order by entry desc limit 1')).toEqual([
      { action: 'keep', actor: 'tester' },
    ]);
  });

  it('who keeps a body that names a patient who was erased meanwhile does not bring it back', async () => {
    await apply(database, [other({ note: id, patient_id: 'second' })]);
    await erase();
    await erase({ id: 'second' });
    await decideOn('keep');
    expect(await count('inbox')).toBe(0);
  });
});

describe('a rejected body', () => {
  const keep = async (body: string) => {
    const log = createLog('silent');
    const quarantine = createQuarantine({ families, pool: database.pool, log, limits: { bytes: 1e6 } });
    await quarantine.keep({ path: paths.receipt, reason: 'invalid', errors: [], body: Buffer.from(body) });
    await quarantine.drained();
  };
  const cut = (way: string) => {
    const { beside = {}, data } = waysToName[way]!(id);
    return JSON.stringify({ event: 'x', ...beside, data }).slice(0, -2);
  };

  it.each(['oid', 'patientId', 'Patient-ID', 'abha_number', 'beside data'])(
    'that is cut and names the patient by %s is erased and does not come back',
    async (way) => {
      await keep(`${cut(way)},`);
      expect((await erase()).counts).toMatchObject({ quarantine: 1 });
      await keep(`${cut(way)},`);
      expect(await count('quarantine')).toBe(0);
    },
  );

  it.each(numbers.flatMap((number) => ['', ' cut'].map((rest) => [number, rest] as const)))(
    'that names the patient by the number %s is erased and does not come back%s',
    async (number, rest) => {
      const body = `${namedByNumber('patient_id', number, {})}${rest}`;
      await keep(body);
      expect((await erase()).counts).toMatchObject({ quarantine: 1 });
      await keep(body);
      expect([await count('quarantine'), await count('uncertain_bodies')]).toEqual([0, 0]);
    },
  );

  it('that names the patient with any key is erased again in a restored backup', async () => {
    const bodies = Object.keys(waysToName).map((way) => {
      const { beside = {}, data } = waysToName[way]!(id);
      return JSON.stringify({ event: 'x', ...beside, data });
    });
    for (const body of bodies) await keep(body);
    expect((await erase()).counts).toMatchObject({ quarantine: bodies.length });
    const list = parseErasures(await exportErasures(database.db, actor));
    await database.rows('truncate erasures, withheld.records cascade');
    for (const body of bodies) await keep(body);
    const { counts } = await applyErasures(database.db, families, list, options);
    expect(counts).toMatchObject({ quarantine: bodies.length });
    expect([await count('quarantine'), await count('uncertain_bodies')]).toEqual([0, 0]);
  });

  it('with the id as a word is left to a person, also one that arrives later; a person may keep it', async () => {
    await keep(`not json at all, patient ${id}.`);
    await keep(`{"escaped":"\\u0031${id.slice(1)}"`);
    expect((await preview()).uncertain.quarantine).toHaveLength(2);
    expect((await erase()).searched).toMatchObject({ uncertain: 2 });
    await keep(`another, patient ${id}`);
    expect(await count('quarantine')).toBe(0);
    const listed = await readUncertain(database.db, 10);
    expect(listed.map(({ source }) => source)).toEqual(['quarantine', 'quarantine', 'quarantine']);
    for (const body of listed) {
      const chosen = { id: body.id, erasureId: body.erasure_id, decision: 'keep' } as const;
      await decide(database.db, families, chosen, options);
    }
    expect(await count('quarantine')).toBe(3);
  });
});

describe('other ids', () => {
  it('in the same object are of the same patient, and are erased and refused with it', async () => {
    const both = appointmentCallback({ data: { patient_id: id, partner_patient_id: 'P-7' } });
    const partnerOnly = other({ partner_patient_id: 'P-7' });
    await apply(database, [both, partnerOnly, other({ partner_patient_id: 'P-8' })]);
    expect(await preview()).toMatchObject({ linked: ['P-7'], counts: { deliveries: 2 } });
    expect((await erase()).searched).toMatchObject({ ids: 2 });
    expect(await insert(partnerOnly, other({ partner_patient_id: 'P-7' }))).toEqual(['erased', 'erased']);
    expect(await count('inbox')).toBe(1);
  });

  it('that several patients have in common link nobody, and are shown before the erasure', async () => {
    const of = (patient_id: string) => other({ patient_id, partner_patient_id: '0' });
    await apply(database, [of(id), of('somebody'), other({ partner_patient_id: '0' })]);
    expect(await preview()).toMatchObject({ linked: [], others: { ids: ['0'] }, counts: { deliveries: 1 } });
    await erase();
    expect(await count('inbox')).toBe(2);
  });

  it('of other objects are shown before the erasure, with those in billing, and stay', async () => {
    const booking = other({
      patient: { id },
      billing: { name: 'n', phone: 'p' },
      patients: [{ patient_id: 'child' }],
    });
    await apply(database, [booking, other({ patient_id: 'child' })]);
    expect(await preview()).toMatchObject({ linked: [], others: { ids: ['child'], billing: 1 } });
    await erase();
    expect(await insert(other({ patient_id: 'child' }))).toEqual(['accepted']);
  });
});

it('a restored backup loses again what was certain, and hides again what is uncertain', async () => {
  const certain = Object.values(waysToName).map((name) => other(name(id).data, name(id).beside));
  const unclear = other({ note: id });
  await apply(database, [...certain, unclear]);
  await erase();
  const list = parseErasures(await exportErasures(database.db, actor));
  await database.rows('truncate erasures, withheld.records cascade');
  await apply(database, [...certain, unclear]);
  await asStoredBefore();
  await applyErasures(database.db, families, list, options);
  expect(await count('inbox')).toBe(0);
  expect(await readUncertain(database.db, 10)).toMatchObject([{ id: deliveryOf(unclear).id }]);
  expect(await insert(certain[0]!)).toEqual(['erased']);
});
