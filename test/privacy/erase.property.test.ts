import fc from 'fast-check';
import type { Delivery } from '../../src/callbacks/delivery.ts';
import { families } from '../../src/callbacks/families/index.ts';
import { replayDeliveries } from '../../src/inbox/list-deliveries.ts';
import { continueErasures, erasePatient } from '../../src/privacy/erase.ts';
import { holdPatient } from '../../src/privacy/holds.ts';
import { applyRetention } from '../../src/privacy/retention.ts';
import { rebuildRows } from '../../src/receiver/worker/rebuild.ts';
import { coreOf, everything, mergeAll, storeIn } from '../support/core.ts';
import { deliveryOf } from '../support/intake.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { until } from '../support/until.ts';

const database = useReceiverDatabase();
const tables =
  'receipts, appointments, admissions, admission_events, admission_clearances, admission_estimates, review_requests, other_events, health_accounts';
const start = Math.floor(Date.now() / 1000) - 86_400;

const actor = { id: 'somebody' };
const clear = () =>
  database.rows(
    `truncate receiver.inbox, receiver.pending_deliveries, receiver.erased, receiver.erasures, receiver.withheld,
     receiver.resends, receiver.holds, ${tables}`,
  );

interface Drawn {
  kind: keyof typeof kinds;
  record: number;
  /** The record of another family that it refers to. */
  other: number;
  person: string | undefined;
  fact: number;
  order: number;
  business: string;
  second: number;
}

interface Shape {
  event: string;
  data: object;
  transaction_id?: string;
  /** The kind of the record that it refers to. */
  refersTo?: Drawn['kind'];
  /** Names nobody; or is a record of its own; or goes as a whole. */
  is?: 'nameless' | 'own' | 'whole';
}

const part = (what: string, { other, record }: Drawn) => `ipd/b/admissions/ad-${other}/${what}/${record}`;
/** A callback of each kind: a fact, a token that is personal, and the patient where it has one. */
const kinds = {
  appointment: ({ record, fact }: Drawn, token: string, patient_id?: string): Shape => ({
    event: 'appointment.updated',
    data: { appointment_id: `a-${record}`, clinic_id: fact, partner_meta: token, patient_id },
  }),
  receipt: ({ record, fact, other, order }: Drawn, token: string, patient_oid?: string): Shape => ({
    event: order % 5 === 0 ? 'receipt.deleted' : 'receipt.updated',
    // A lean one says neither whose it is nor which appointment.
    data: {
      receipt_id: record,
      net_amount: fact,
      amount_paid: order % 3 === 0 ? fact : undefined,
      remarks: token,
      patient_oid,
      ...(order % 2 && { aid: `a-${other}` }),
    },
    refersTo: 'appointment',
  }),
  admission: ({ record, fact }: Drawn, token: string, pid?: string): Shape => ({
    event: 'ipd_admissions.updated',
    data: { id: `ad-${record}`, totalbilled: fact, ipid: token, pid },
  }),
  event: (drawn: Drawn, token: string): Shape => ({
    event: 'ipd_admissions_events.updated',
    data: { id: `e-${drawn.record}`, kind: drawn.fact, by: token },
    ...{ transaction_id: part('events', drawn), refersTo: 'admission', is: 'nameless' },
  }),
  estimate: (drawn: Drawn, token: string): Shape => ({
    event: 'ipd_admissions_estimates.updated',
    data: { id: `s-${drawn.record}`, rate: drawn.fact, remarks: token },
    ...{ transaction_id: part('estimates', drawn), refersTo: 'admission', is: 'nameless' },
  }),
  review: ({ other, fact }: Drawn, token: string, patient_id?: string): Shape => ({
    event: 'google_review.request',
    data: { patient_id, clinic_id: fact, google_review_link: token, appointment_id: `a-${other}` },
    ...{ refersTo: 'appointment', is: 'own' },
  }),
  unknown: (_: Drawn, token: string, patient_id?: string): Shape => ({
    event: 'x.y',
    data: { patient_id, text: token },
    is: 'own',
  }),
  account: ({ record, fact }: Drawn, token: string, oid?: string): Shape => ({
    event: 'abha.created',
    data: { abha_address: `t${record}@abdm`, hip_id: fact, unknown: token, oid },
    is: 'whole',
  }),
} satisfies Record<string, (drawn: Drawn, token: string, person?: string) => Shape>;

const histories = fc.array(
  fc.record<Drawn>({
    kind: fc.constantFrom(...(Object.keys(kinds) as Drawn['kind'][]), 'receipt', 'receipt', 'appointment'),
    record: fc.integer({ min: 0, max: 1 }),
    other: fc.integer({ min: 0, max: 1 }),
    person: fc.constantFrom('A', 'B', 'C', 'C', undefined, undefined, undefined),
    fact: fc.integer({ min: 1, max: 99 }),
    order: fc.nat(),
    business: fc.constantFrom('b', 'b2'),
    second: fc.integer({ min: 0, max: 40 }),
  }),
  { minLength: 12, maxLength: 30 },
);

interface Said extends Drawn {
  delivery: Delivery;
  token: string;
  shape: Shape;
  /** Its record, and the one that it refers to. */
  key: string;
  refers: string | undefined;
}

let serial = 0;
function play(drawn: readonly Drawn[]): Said[] {
  return drawn.map((one, index) => {
    serial += 1;
    const token = `~T${serial};`;
    const shape = kinds[one.kind](one, token, one.person);
    const { event, data, transaction_id, is } = shape;
    const event_time = start + one.second * 100 + index;
    const delivery = deliveryOf({ event, event_time, business_id: one.business, transaction_id, data });
    const named = is === 'nameless' ? undefined : one.person;
    const key = is === 'own' ? token : `${one.business} ${one.kind} ${one.record}`;
    const isReferring = shape.refersTo && (one.kind !== 'receipt' || one.order % 2 === 1);
    const refers = isReferring ? `${one.business} ${shape.refersTo} ${one.other}` : undefined;
    return { ...one, person: named, delivery, token, shape, key, refers };
  });
}

const inOrder = (list: readonly Said[]) =>
  list.toSorted((a, b) => (a.delivery.version < b.delivery.version ? -1 : 1));

/** The nearest earlier one of these, else the next. */
function nearest(list: readonly Said[], { delivery: { version } }: Said): Said | undefined {
  const sorted = inOrder(list);
  return sorted.findLast(({ delivery }) => delivery.version <= version) ?? sorted[0];
}

/** Whom a callback is about, as far as anything says so. */
function ownerOf(one: Said, all: readonly Said[]): string | undefined {
  const own = all.filter(({ key }) => key === one.key);
  const naming = nearest(
    own.filter(({ person }) => person),
    one,
  );
  if (naming) return naming.person;
  const refers = nearest(
    own.filter((said) => said.refers),
    one,
  )?.refers;
  return nearest(
    all.filter(({ key, person }) => key === refers && person),
    one,
  )?.person;
}

/** Whether retention deletes a record: all that is said of it is older, and not about C, who is held. */
const isDue = ({ key }: Said, all: readonly Said[], cutoffMs: number): boolean =>
  all
    .filter((other) => other.key === key)
    .every((said) => said.delivery.eventMs < cutoffMs && ownerOf(said, all) !== 'C');

const rowsOfAll = `
  select 'appointment' as kind, business_id, appointment_id as id, clinic_id as fact, partner_meta #>> '{}' as token, last_event, null as paid from appointments
  union all select 'receipt', business_id, receipt_id::text, net_amount::text, remarks, last_event, amount_paid::text from receipts
  union all select 'admission', business_id, id, totalbilled::text, ipid, last_event, null from admissions
  union all select 'event', business_id, id, kind, by #>> '{}', last_event, null from admission_events
  union all select 'estimate', business_id, id, rate::text, remarks, last_event, null from admission_estimates`;

it('erasures beside all other work leave facts, others and holds, and nothing of the erased', async () => {
  const gone = ['A', 'B'];
  await fc.assert(
    fc.asyncProperty(
      histories,
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.integer({ min: 10, max: 41 }),
      async (drawn, share, oldest) => {
        const cutoffMs = (start + oldest * 100 - 50) * 1000;
        const core = coreOf(database, { retention: { receipt: Date.now() - cutoffMs } });
        await clear();
        await holdPatient(core, actor, ['p:platform:C']);
        const all = play(drawn);
        const arriving = all.toSorted((a, b) => a.order - b.order).map(({ delivery }) => delivery);
        const cut = Math.floor(arriving.length * share);
        for (const one of arriving.slice(0, cut)) await storeIn(core, one);
        await Promise.all([
          ...gone.map((person) => erasePatient(core, actor, [`p:platform:${person}`])),
          ...[mergeAll(core), rebuildRows(core)],
          replayDeliveries(core.db, { ids: arriving.slice(0, cut).map(({ id }) => id) }),
          ...arriving.slice(cut).map((one) => storeIn(core, one)),
        ]);
        await mergeAll(core);
        await until(async () => (await continueErasures(core)) === 0);
        await Promise.all([applyRetention(core), mergeAll(core), rebuildRows(core)]);
        await mergeAll(core);
        await applyRetention(core);

        const hasExpired = (one: Said) => one.kind === 'receipt' && isDue(one, all, cutoffMs);
        const text = await everything(core);
        const isGone = (one: Said) => one.shape.is !== 'whole' && gone.includes(ownerOf(one, all) ?? '');
        expect(all.filter((one) => isGone(one) && text.includes(one.token))).toEqual([]);
        for (const person of gone) expect(text).not.toContain(`platform:${person}`);
        const rows = await database.rows(rowsOfAll);
        for (const one of all.filter(({ shape: { is } }) => is !== 'own' && is !== 'whole')) {
          const said = all.filter(({ key }) => key === one.key);
          const last = inOrder(said).at(-1)!;
          const paying = inOrder(said).findLast(({ kind, order }) => kind === 'receipt' && order % 3 === 0);
          const row = rows.find(
            ({ kind, business_id, id }) =>
              kind === one.kind && business_id === one.business && id === one.delivery.recordId,
          );
          // What says later whose it was comes too late for one that was reduced.
          const around = all.filter(
            ({ key }) => key === one.key || said.some(({ refers }) => refers === key),
          );
          const mayBeGone = around.some(({ person }) => gone.includes(person ?? '')) && row?.token === null;
          const token = isGone(last) || mayBeGone ? null : last.token;
          const paid = paying ? String(paying.fact) : null;
          const want = { fact: String(last.fact), token, last_event: last.shape.event, paid };
          const { kind: _, business_id: __, id: ___, ...found } = row ?? {};
          expect([one.key, found]).toEqual([one.key, hasExpired(one) ? {} : want]);
        }
        // Also of a part that was reduced.
        const astray = `select from receiver.inbox where family in ('admission_event', 'admission_estimate')
          and coalesce(data->>'admission_id', '') !~ '^ad-[01]$'`;
        expect(await database.rows(astray)).toEqual([]);
        const own = all.filter(({ shape: { is } }) => is === 'own').length;
        expect(
          await database.rows(
            'select ((select count(*) from review_requests) + (select count(*) from other_events))::int as own',
          ),
        ).toEqual([{ own }]);
        expect(await rebuildRows(core)).toMatchObject({ changed: 0, rows: 0 });
        for (const one of all.filter((said) => !hasExpired(said)))
          expect(await storeIn(core, one.delivery)).toEqual(['duplicate']);
      },
    ),
    // Shrinking takes longer than a test may.
    { numRuns: 25, endOnFailure: true },
  );
});

it('retention keeps exactly the records of a held patient that an erasure would reduce', async () => {
  const retention = Object.fromEntries(families.map(({ name }) => [name, 1]));
  const core = coreOf(database, { retention });
  const recordsIn = (table: string) =>
    database.rows(`select distinct family, business_id, record_id from receiver.${table} order by 1, 2, 3`);
  await fc.assert(
    fc.asyncProperty(histories, async (drawn) => {
      const deliveries = play(drawn).map(({ delivery }) => delivery);
      await clear();
      await storeIn(core, ...deliveries);
      await mergeAll(core);
      await erasePatient(core, actor, ['p:platform:C']);
      const reduced = await recordsIn('withheld');
      await clear();
      await storeIn(core, ...deliveries);
      await mergeAll(core);
      await holdPatient(core, actor, ['p:platform:C']);
      await applyRetention(core);
      // Records to which those that went referred.
      await applyRetention(core);
      expect(await recordsIn('inbox')).toEqual(reduced);
    }),
    { numRuns: 10, endOnFailure: true },
  );
});
