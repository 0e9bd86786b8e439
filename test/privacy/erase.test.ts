import fc from 'fast-check';
import { applyDeliveries } from '../../src/apply/apply.ts';
import { replayDeliveries } from '../../src/apply/replay.ts';
import { createLog } from '../../src/common/log.ts';
import { type Family, families } from '../../src/families/index.ts';
import type { ReceiveResult } from '../../src/intake/delivery.ts';
import { createIntake, type Intake } from '../../src/intake/intake.ts';
import { databaseCircuit } from '../../src/intake/probe-inbox.ts';
import { erasePatient } from '../../src/privacy/erasure/erase.ts';
import type { Patient } from '../../src/privacy/find-deliveries.ts';
import { holdPatient, releasePatient } from '../../src/privacy/hold.ts';
import { runRetention } from '../../src/privacy/retention/retention.ts';
import {
  consentFormCallback,
  deliveryOf,
  receiptCallback,
  reviewRequestCallback,
} from '../support/callbacks.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { apply, clear, erasureTables } from '../support/deliveries.ts';
import { testConfig } from '../support/service.ts';

let database: TestDatabase;
let other: TestDatabase;
beforeAll(async () => {
  [database, other] = await Promise.all([createDatabase(), createDatabase()]);
});
afterAll(async () => {
  await database.close();
  await other.close();
});
beforeEach(() => reset());

async function reset(): Promise<void> {
  await clear(database, ...erasureTables, 'schema_drift');
  await clear(other);
}

const actor = { id: 'tester' };
const year = 365 * 86_400_000;
const options = { actor, keepMs: year };
const erase = (patient: Patient, more = {}) =>
  erasePatient(database.db, families, patient, { ...options, ...more });
const openIntake = (retention: Record<string, number>) => {
  const { pool } = database;
  const log = createLog('silent');
  const config = testConfig({ retention });
  return createIntake({ config, families, pool, circuit: databaseCircuit(pool, { log }), log });
};
const receive = async (intake: Intake, callbacks: { event: string }[]) => {
  const results: ReceiveResult[] = [];
  for (const callback of callbacks) {
    const family = (families as readonly Family[]).find(({ events }) => events.includes(callback.event))!;
    const body = Buffer.from(JSON.stringify(callback));
    results.push((await intake.receive(body, { family, path: '/p' })).status);
  }
  return results;
};
const swept = { receipt: year, review_request: year };

const now = Math.floor(Date.now() / 1000);
const longAgo = now - 2 * 365 * 86_400;
const recent = now - 86_400;
const soon = now + 3_600;

/** The rows of the families' tables, without the times at which they were made. */
async function rowsOf({ rows }: TestDatabase): Promise<unknown[]> {
  const tables = ['receipts', 'receipt_versions', 'consent_forms', 'review_requests'];
  return Promise.all(
    tables.map((table) =>
      rows(
        `select to_jsonb(t) - '{received_at,applied_at}'::text[] as row from ${table} t order by delivery_id`,
      ),
    ),
  );
}

/** Every row of every table as text, except the schema `withheld`. */
async function everything({ rows }: TestDatabase): Promise<string> {
  const tables = await rows(`
    select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('public', 'reporting')`);
  const texts = await Promise.all(
    tables.map(async ({ name }) => [name, await rows(`select t::text as row from ${name} t`)]),
  );
  return JSON.stringify(texts);
}

describe('any interleaving of callbacks, duplicates, erasures, holds, replays and sweeps', () => {
  const patients = ['161467756044204', '161467756044205'];
  const named = fc.constantFrom(...patients, undefined);
  const common = {
    event_time: fc.constantFrom(longAgo, longAgo + 1, recent, soon),
    business_id: fc.constantFrom('b1', 'b2'),
  };
  const marked = fc.integer({ min: 0, max: 1e9 }).map((number) => `marker-${number}-`);
  const callback = fc.oneof(
    fc
      .record({
        ...common,
        event: fc.constantFrom('receipt.created', 'receipt.updated', 'receipt.deleted'),
        patient_oid: named,
        receipt_id: fc.constantFrom(1, 2),
        name: marked,
      })
      .map(({ event, event_time, business_id, ...data }) =>
        receiptCallback({ event, event_time, business_id, data } as never),
      ),
    fc
      .record({
        ...common,
        event: fc.constantFrom('mcert.created', 'mcert.updated'),
        patientid: named,
        id: fc.constantFrom('x', 'y'),
        url: marked,
      })
      .map(({ event, event_time, business_id, ...data }) =>
        consentFormCallback({ event, event_time, business_id, data } as never),
      ),
    fc
      .record({ ...common, patient_id: named, google_review_link: marked })
      .map(({ event_time, business_id, ...data }) =>
        reviewRequestCallback({ event_time, business_id, data } as never),
      ),
  );
  type Callback = ReturnType<typeof receiptCallback>;
  const withoutUndefined = (value: unknown) => JSON.parse(JSON.stringify(value));
  type Step =
    | { kind: 'send'; callbacks: Callback[] }
    | { kind: 'apply' | 'replay' | 'sweep' }
    | { kind: 'resend'; of: number }
    | { kind: 'erase' | 'hold' | 'release'; id: string; businessId: string | undefined };
  const step: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.array(callback, { minLength: 1, maxLength: 4 }).map((callbacks) => ({
        kind: 'send' as const,
        callbacks: withoutUndefined(callbacks) as Callback[],
      })),
    },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constantFrom('apply' as const, 'replay' as const, 'sweep' as const) }),
    },
    { weight: 3, arbitrary: fc.nat(30).map((of) => ({ kind: 'resend' as const, of })) },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constantFrom('erase' as const, 'erase' as const, 'hold' as const, 'release' as const),
        id: fc.constantFrom(...patients),
        businessId: fc.constantFrom(undefined, undefined, 'b1'),
      }),
    },
  );

  const namedBy = ({ data }: Callback): string[] => {
    const { patient_oid, patientid, patient_id } = data as object as Record<string, string | undefined>;
    return [patient_oid, patientid, patient_id].filter((id) => id !== undefined);
  };
  const thingOf = ({ event, business_id, data }: Callback): string | undefined => {
    if (event.startsWith('google')) return undefined;
    return JSON.stringify([
      event.split('.')[0],
      business_id,
      event.startsWith('mcert') ? (data as { id?: string }).id : data.receipt_id,
    ]);
  };

  /** What is held after some steps, by rules that are written independently of the receiver's. */
  class Model {
    readonly held = new Map<string, Callback>();
    readonly sent: Callback[] = [];
    private readonly patients: { id: string; businessId: string | undefined; until: number }[] = [];
    private readonly things = new Set<string>();
    /** By patient and business. */
    private readonly holds = new Set<string>();
    private hasRetention = false;

    hold({ id, businessId = '' }: Patient, isHeld: boolean): void {
      if (isHeld) this.holds.add(`${id} ${businessId}`);
      else this.holds.delete(`${id} ${businessId}`);
    }

    sweep(): void {
      this.hasRetention = true;
      for (const [id, callback] of this.held) {
        const isHeld = namedBy(callback).some(
          (name) => this.holds.has(`${name} `) || this.holds.has(`${name} ${callback.business_id}`),
        );
        if (this.isExpired(callback) && !isHeld) this.held.delete(id);
      }
    }

    private isExpired({ event, event_time }: Callback): boolean {
      return this.hasRetention && !event.startsWith('mcert') && event_time < now - 365 * 86_400;
    }

    private isErased(callback: Callback): boolean {
      const names = namedBy(callback);
      const thing = thingOf(callback);
      if (thing && (names.length > 0 ? names : ['']).some((name) => this.things.has(`${thing} ${name}`)))
        return true;
      return this.patients.some(
        ({ id, businessId, until }) =>
          names.includes(id) &&
          (!businessId || businessId === callback.business_id) &&
          callback.event_time <= until,
      );
    }

    send(callback: Callback): ReceiveResult {
      this.sent.push(callback);
      if (this.isExpired(callback)) return 'expired';
      if (this.isErased(callback)) return 'erased';
      const { id } = deliveryOf(callback);
      const isKnown = this.held.has(id);
      this.held.set(id, callback);
      return isKnown ? 'duplicate' : 'accepted';
    }

    erase(id: string, businessId: string | undefined): void {
      const isNamed = (callback: Callback) =>
        namedBy(callback).includes(id) && (!businessId || businessId === callback.business_id);
      const all = [...this.held];
      const gone = all.filter(([, callback]) => isNamed(callback));
      // An event of a record that names nobody says nothing about the patient's later events.
      const last = Math.max(Date.now() / 1000, ...gone.map(([, callback]) => callback.event_time));
      const things = new Set(gone.flatMap(([, callback]) => thingOf(callback) ?? []));
      for (const thing of things) {
        const about = all.filter(([, callback]) => thingOf(callback) === thing);
        this.things.add(`${thing} ${id}`);
        if (about.some(([, callback]) => namedBy(callback).some((name) => name !== id))) continue;
        this.things.add(`${thing} `);
        gone.push(...about.filter(([, callback]) => namedBy(callback).length === 0));
      }
      for (const [delivery] of gone) this.held.delete(delivery);
      this.patients.push({ id, businessId, until: last });
    }
  }

  const applyPending = async () => {
    const pending = await database.rows('select id from pending_deliveries order by id');
    await applyDeliveries(
      database.db,
      families,
      pending.map(({ id }) => id as string),
    );
  };

  it('ends without a trace of what was erased and with all of what was not', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 14 }), async (steps) => {
        await reset();
        const model = new Model();
        const retention: Record<string, number> = {};
        const intake = openIntake(retention);
        for (const one of steps) {
          if (one.kind === 'send') {
            const expected = one.callbacks.map((callback) => model.send(callback));
            expect(await receive(intake, one.callbacks)).toEqual(expected);
          } else if (one.kind === 'resend' && model.sent.length > 0) {
            const callback = model.sent[one.of % model.sent.length]!;
            const expected = model.send(callback);
            expect(await receive(intake, [callback])).toEqual([expected]);
          } else if (one.kind === 'apply') await applyPending();
          else if (one.kind === 'replay')
            await replayDeliveries(database.db, families, { status: 'applied' }, { dryRun: false });
          else if (one.kind === 'sweep') {
            await applyPending();
            Object.assign(retention, swept);
            model.sweep();
            await runRetention(database.db, families, retention, { actor });
          } else if (one.kind === 'hold' || one.kind === 'release') {
            model.hold(one, one.kind === 'hold');
            await (one.kind === 'hold' ? holdPatient : releasePatient)(database.db, one, actor);
          } else if (one.kind === 'erase') {
            model.erase(one.id, one.businessId);
            await erase(one);
          }
        }
        await applyPending();
        await replayDeliveries(database.db, families, { status: 'applied' }, { dryRun: false });
        if (model.held.size > 0) await apply(other, [...model.held.values()]);
        expect(await rowsOf(database)).toEqual(await rowsOf(other));
        const ids = (await database.rows('select id from deliveries')).map(({ id }) => id);
        expect(ids.sort()).toEqual([...model.held.keys()].sort());
        await intake.close();
        // Once the holds have ended and everything is due, nothing is withheld either.
        await database.rows(`truncate patient_holds; update withheld.records set destroy_at = now()`);
        await runRetention(database.db, families, {}, { actor });
        expect(await database.rows('select from withheld.records')).toEqual([]);
        const text = await everything(database);
        const marker = (callback: Callback) => /marker-\d+-/.exec(JSON.stringify(callback))![0];
        const kept = new Set([...model.held.values()].map(marker));
        for (const callback of model.sent) {
          if (!kept.has(marker(callback))) expect(text).not.toContain(marker(callback));
        }
      }),
      { numRuns: 15 },
    );
  });
});
