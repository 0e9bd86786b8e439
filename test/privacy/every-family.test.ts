import fc from 'fast-check';
import { applyDeliveries } from '../../src/apply/apply.ts';
import { replayDeliveries } from '../../src/apply/replay.ts';
import { type Family, families } from '../../src/families/index.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import { createParser } from '../../src/intake/parse-callback.ts';
import { erasePatient } from '../../src/privacy/erasure/erase.ts';
import { useDatabase } from '../support/database.ts';
import { clear, erasureTables } from '../support/deliveries.ts';
import { readPatient } from '../support/held.ts';
import { type Documented, documented } from '../support/platform/documented.ts';
import { meaningOf, type Random, seeded } from '../support/platform/meanings.ts';
import { spell } from '../support/platform/spellings.ts';

const database = useDatabase();

const tables = (families as readonly Family[]).flatMap(({ table, versions }) =>
  versions ? [table, versions] : [table],
);

const reset = () => clear(database, ...erasureTables, 'schema_drift');

const patient = 'patient-a';
const spellings = ['patient_oid', 'patientid', 'patient_id', 'pid'];

interface Callback {
  of: Documented;
  body: { business_id?: string; transaction_id?: string; data: Record<string, unknown> };
}

/** A callback of any event, about one of a few things, that names the patient, another one, or nobody. */
function callbackOf(random: Random): Callback {
  const of = random.pick(documented);
  const meaning = meaningOf(of, random.pick(Object.keys(of.events)), random);
  const field = spellings.find((name) => name in of.fields);
  // Another id of the patient would link callbacks, see patient-ids.test.ts.
  for (const other of ['partner_patient_id', 'patient']) if (other in of.fields) meaning.values[other] = null;
  // Mostly by the number of the thing, so that most things are of one patient.
  const thing = of.key ? String(meaning.values[of.key]) : '';
  const usual = /[024]$/.test(thing) ? patient : 'patient-b';
  if (field)
    meaning.values[field] = random.pick(
      [usual, usual, usual, null, '', patient, 'patient-b'].slice(0, of.key ? 6 : 7),
    );
  if (of.family === 'admission') meaning.values.id = `adm-${random.below(3)}`;
  return { of, body: spell(meaning, random.pick(['documented', 'seen']), random) as Callback['body'] };
}

const generated = fc
  .record({ seed: fc.integer(), count: fc.integer({ min: 1, max: 60 }) })
  .map(({ seed, count }) => {
    const random = seeded(seed);
    return Array.from({ length: count }, () => callbackOf(random));
  });

const named = ({ body }: Callback) => spellings.map((name) => body.data[name]).find(Boolean);

/** What a callback is about: of a part of an admission, the admission. */
function thingOf({ of, body: { business_id, transaction_id, data } }: Callback): string | undefined {
  const isPart = 'admission_id' in of.fields;
  const admission = /admissions\/([^/]+)/.exec(transaction_id ?? '')?.[1];
  const id = isPart ? admission : of.key && (data[of.key] ?? data.rx_id);
  const family = isPart ? 'admission' : of.family;
  return id === undefined ? undefined : JSON.stringify([family, business_id ?? '', String(id)]);
}

/** Those that an erasure of the patient takes: what names the patient, and what names nobody about the patient's own things. */
function erasedAmong(callbacks: Callback[]): Set<Callback> {
  const about = (isWanted: (name: unknown) => boolean) =>
    new Set(callbacks.filter((one) => isWanted(named(one))).map(thingOf));
  const [those, shared] = [
    about((name) => name === patient),
    about((name) => Boolean(name) && name !== patient),
  ];
  const isOwn = (thing: string | undefined) => thing !== undefined && those.has(thing) && !shared.has(thing);
  return new Set(callbacks.filter((one) => named(one) === patient || (!named(one) && isOwn(thingOf(one)))));
}

const parse = createParser(families);
const deliveryOf = ({ body }: Callback) => {
  const bytes = Buffer.from(JSON.stringify(body));
  const { id, family } = parse(bytes);
  return { id, family: family.name, body: bytes };
};

async function store(callbacks: Callback[]): Promise<string[]> {
  return callbacks.length > 0 ? insertDeliveries(database.pool, callbacks.map(deliveryOf)) : [];
}

async function applyPending(): Promise<void> {
  const pending = await database.rows('select id from pending_deliveries');
  const ids = pending.map(({ id }) => id as string);
  await applyDeliveries(database.db, families, ids);
}

async function receive(callbacks: Callback[]): Promise<string[]> {
  const results = await store(callbacks);
  await applyPending();
  return results;
}

/** Every row, without the times of this run. */
const contents = () =>
  Promise.all(
    ['deliveries', ...tables].map(async (table) => {
      const rows = await database.rows(`
        select to_jsonb(t) - '{received_at,applied_at,last_received_at,delivery_count}'::text[] as row
        from ${table} t order by to_jsonb(t)->>'id', to_jsonb(t)->>'delivery_id'`);
      return { table, rows: rows.map(({ row }) => row) };
    }),
  );

const erase = () =>
  erasePatient(database.db, families, { id: patient }, { actor: { id: 'tester' }, keepMs: 1e12 });

it('an erasure takes what names the patient in any family, with the parts of the patient’s admissions, and nothing else; nothing of it comes back', async () => {
  await fc.assert(
    fc.asyncProperty(generated, fc.nat(60), async (callbacks, pending) => {
      const erased = erasedAmong(callbacks);
      const ids = new Set([...erased].map((one) => deliveryOf(one).id));
      await reset();
      await receive(callbacks.filter((one) => !erased.has(one)));
      const expected = await contents();

      await reset();
      await receive(callbacks.slice(pending));
      await store(callbacks.slice(0, pending));
      const { counts: held } = await readPatient(database, families, { id: patient });
      expect(held.deliveries).toBe(ids.size);
      const { counts } = await erase();
      expect(counts.deliveries).toBe(ids.size);
      await applyPending();
      expect(await contents()).toEqual(expected);

      const results = await receive(callbacks);
      expect(results.map((result) => result === 'erased')).toEqual(callbacks.map((one) => erased.has(one)));
      await replayDeliveries(database.db, families, { status: 'applied' }, { dryRun: false });
      expect(await contents()).toEqual(expected);
    }),
    { numRuns: 6 },
  );
});

it('an admission is erased with its events, clearances and estimates, also later ones; another one stays whole', async () => {
  await reset();
  const random = seeded(1);
  const admission = (number: number, pid: string | null) => {
    const of = documented.find(({ family }) => family === 'admission')!;
    const meaning = meaningOf(of, 'ipd_admissions.created', random);
    Object.assign(
      meaning,
      { business: 'b', lacks: new Set() },
      { values: { ...meaning.values, id: `adm-${number}`, pid } },
    );
    return { of, body: spell(meaning, 'documented', random) as Callback['body'] };
  };
  const part = (family: string, number: number, action: string) => {
    const of = documented.find((one) => one.family === family)!;
    const event = Object.keys(of.events).find((name) => name.endsWith(action))!;
    const meaning = meaningOf(of, event, random);
    const transaction = `ipd/b/admissions/adm-${number}/parts/1`;
    meaning.values[of.key!] = of.key === 'transaction_id' ? transaction : `part-${number}`;
    Object.assign(meaning, { business: 'b', transaction, lacks: new Set() });
    return { of, body: spell(meaning, 'seen', random) as Callback['body'] };
  };
  const parts = ['admission_event', 'admission_clearance', 'admission_estimate'];
  const whole = (number: number, pid: string) => [
    ...parts.map((family) => part(family, number, 'created')),
    admission(number, pid),
    ...parts.map((family) => part(family, number, 'updated')),
  ];
  const [mine, others] = [whole(1, patient), whole(2, 'patient-b')];
  await receive(others);
  const expected = await contents();
  await receive(mine);
  const { counts } = await erase();
  expect(counts).toMatchObject({
    deliveries: 7,
    admissions: 1,
    admission_events: 1,
    admission_clearances: 1,
    admission_estimates: 1,
  });
  expect(await contents()).toEqual(expected);
  const after = [...mine, ...parts.map((family) => part(family, 1, 'updated')), admission(1, null)];
  expect(new Set(await receive(after))).toEqual(new Set(['erased']));
  expect(await contents()).toEqual(expected);
});
