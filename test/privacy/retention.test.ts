import fc from 'fast-check';
import { sql } from 'kysely';
import { applyDeliveries } from '../../src/apply/apply.ts';
import { replayDeliveries } from '../../src/apply/replay.ts';
import { createLog } from '../../src/common/log.ts';
import { parseConfig } from '../../src/config/config.ts';
import { type Family, families } from '../../src/families/index.ts';
import { createIntake } from '../../src/intake/intake.ts';
import { databaseCircuit } from '../../src/intake/probe-inbox.ts';
import { logAccess } from '../../src/privacy/log/access-log.ts';
import {
  type Retention,
  type RetentionOptions,
  runRetention,
} from '../../src/privacy/retention/retention.ts';
import {
  consentFormCallback,
  deliveryOf,
  history,
  receiptCallback,
  reviewRequestCallback,
  samples,
} from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import {
  apply,
  clear,
  erasureTables,
  everyRow,
  insertCallbacks,
  moveApplied,
  setTimes,
} from '../support/deliveries.ts';

const yearMs = 365.25 * 24 * 60 * 60 * 1000;
const base = 1_700_000_000;
const step = 100_000;
/** The duration that keeps events from this time on. */
const since = (seconds: number) => Date.now() - seconds * 1000;
const actor = { id: 'test' };
const log = createLog('silent');

const database = useDatabase();
beforeEach(async () => {
  await clear(database, ...erasureTables);
});

async function run(retention: Retention, options: Partial<RetentionOptions> = {}) {
  const outcomes = await runRetention(database.db, families, retention, { actor, ...options });
  return Object.fromEntries(outcomes.map(({ policy, deleted }) => [policy, deleted]));
}

const count = async (table: string) => (await database.rows(`select 1 from ${table}`)).length;
const statuses = () =>
  database
    .rows('select id, status from deliveries')
    .then((rows) => rows.map(({ status }) => status).toSorted());

const everything = () => everyRow(database);

function openIntake(retention: Retention) {
  const { pool } = database;
  const circuit = databaseCircuit(pool, { log });
  const config = { ...parseConfig({}, families), retention };
  const intake = createIntake({ config, families, pool, circuit, log });
  const receive = (callback: { event: string }) =>
    intake.receive(Buffer.from(JSON.stringify(callback)), {
      family: families.find(({ events }: Family) => events.includes(callback.event))!,
      path: '/p',
    });
  const close = async () => {
    await intake.close();
    circuit.stop();
  };
  return { intake, receive, close };
}

describe('deliveries', () => {
  const applyPending = async () => {
    const pending = await database.rows('select id from pending_deliveries');
    await applyDeliveries(
      database.db,
      families,
      pending.map(({ id }) => String(id)),
    );
  };

  it('any order of callbacks, resends, replays and passes ends in what the callbacks within retention make', async () => {
    const kept = since(base + 1.5 * step);
    const retention = { receipt: kept, consent_form: kept };
    const { receive, close } = openIntake(retention);
    const acts = fc.constantFrom('received before it expired', 'received now', 'resent');
    const between = fc.constantFrom('nothing', 'apply', 'pass', 'replay');
    const steps = fc.array(fc.tuple(acts, between), { minLength: 24, maxLength: 24 });
    await fc.assert(
      fc.asyncProperty(history, steps, async (callbacks, plan) => {
        const spaced = callbacks.map((callback): typeof callback => ({
          ...JSON.parse(JSON.stringify(callback)),
          event_time: base + (callback.event_time - base) * step,
        }));
        await clear(database);
        for (const callback of spaced) {
          if (callback.event_time > base + step) await apply(database, [callback]);
        }
        const expected = await everything();

        await clear(database);
        for (const [index, callback] of spaced.entries()) {
          const [act, then] = plan[index]!;
          if (act === 'received before it expired') await insertCallbacks(database, [callback]);
          else await receive(callback);
          if (act === 'resent') await receive(callback);
          if (then === 'apply') await applyPending();
          if (then === 'pass') await run(retention);
          if (then === 'replay')
            await replayDeliveries(database.db, families, { status: 'applied' }, { dryRun: false });
        }
        await applyPending();
        await run(retention);
        expect(await everything()).toEqual(expected);
        expect(await database.rows('select id from resends except select id from inbox')).toEqual([]);
      }),
      { numRuns: 12 },
    );
    await close();
  });

  it('each family has its own duration, and one without a duration is kept', async () => {
    const old = { event_time: base };
    await apply(database, [
      receiptCallback(old),
      consentFormCallback(old),
      reviewRequestCallback(old),
      receiptCallback({ event_time: base + step, data: { receipt_id: 2 } }),
    ]);
    const outcome = await run({ receipt: since(base + 1), consent_form: since(base - 1) });
    expect(outcome).toMatchObject({ receipt: { receipts: 1, deliveries: 1 }, consent_form: {} });
    expect(await database.rows('select receipt_id from receipts')).toEqual([{ receipt_id: '2' }]);
    expect([await count('consent_forms'), await count('review_requests'), await count('inbox')]).toEqual([
      1, 1, 3,
    ]);
  });

  it('deletes applied and failed deliveries, and leaves pending ones', async () => {
    const made = [1, 2, 3].map((receipt_id) => receiptCallback({ data: { receipt_id } }));
    await apply(database, made.slice(0, 2));
    await moveApplied(database, `id = '${deliveryOf(made[0]!).id}'`, 'failed');
    await insertCallbacks(database, made.slice(2));
    expect(await statuses()).toEqual(['applied', 'failed', 'received']);
    await run({ receipt: since(base + 1) });
    expect(await statuses()).toEqual(['received']);
  });

  it('a delivery that is being applied again is skipped until the next pass', async () => {
    const [id] = await apply(database, [receiptCallback()]);
    await database.db.transaction().execute(async (tx) => {
      await sql`select from applied_deliveries where id = ${id} for update`.execute(tx);
      expect(await run({ receipt: since(base + 1) })).toMatchObject({ receipt: { deliveries: 0 } });
    });
    expect(await run({ receipt: since(base + 1) })).toMatchObject({ receipt: { deliveries: 1 } });
  });

  it('a pass is an entry of the access log, without personal data; one that deletes nothing is none', async () => {
    await apply(database, [receiptCallback()]);
    const before = await count('access_log');
    await run({ receipt: since(base - 1) });
    expect(await count('access_log')).toBe(before);
    await run({ receipt: since(base + 1) });
    const [entry] = await database.rows('select * from access_log order by entry desc limit 1');
    expect(entry).toMatchObject({ actor: 'test', action: 'retention', patients: [], rows: '2' });
    expect(entry!.filter).toMatchObject({ receipt: { deleted: { receipts: 1, deliveries: 1 } } });
  });

  it('a pass that is ended between two steps has logged what it deleted', async () => {
    await apply(database, [receiptCallback(), consentFormCallback()]);
    const before = await count('access_log');
    const pause = () => Promise.reject(new Error('stop'));
    const kept = since(base + 1);
    await expect(run({ receipt: kept, consent_form: kept }, { pause })).rejects.toThrow('stop');
    expect([await count('receipts'), await count('consent_forms')]).toEqual([0, 1]);
    expect(await count('access_log')).toBe(before + 1);
  });

  it('a dry run changes nothing and counts what a pass then deletes', async () => {
    const callbacks = [1, 1, 2, 3, 3, 3].map((receipt_id, index) =>
      receiptCallback({ event_time: base + index * 1_000, data: { receipt_id } }),
    );
    await apply(database, [...callbacks, consentFormCallback(), reviewRequestCallback()]);
    await database.rows(`insert into quarantine (id, path, reason, body, last_received_at)
      values (gen_random_uuid(), 'p', 'not_json', '{', now() - interval '2 days')`);
    const retention = { receipt: since(base + 3_500), quarantine: yearMs / 365 };
    const before = [await everything(), await count('quarantine'), await count('access_log')];
    const dry = await run(retention, { dryRun: true });
    expect([await everything(), await count('quarantine'), await count('access_log')]).toEqual(before);
    expect(dry).toMatchObject({
      receipt: { receipts: 2, receipt_versions: 2, deliveries: 4 },
      quarantine: { quarantine: 1 },
    });
    expect(await run(retention)).toEqual(dry);
  });
});

describe('a hold', () => {
  const patient = 'held-patient';
  const hold = (business: string) =>
    database.rows(
      `insert into patient_holds (hash, held_by)
       select patient_hash(salt, $1, $2), 'test' from erasure_salt`,
      [business, patient],
    );

  it.each(['', receiptCallback().business_id])(
    'keeps what a patient is named in, in any spelling: business "%s"',
    async (business) => {
      const named = [
        receiptCallback({ data: { patient_oid: patient } }),
        consentFormCallback({ data: { patientid: patient } }),
        reviewRequestCallback({ data: { patient_id: patient } }),
      ];
      const others = [
        receiptCallback({ data: { receipt_id: 5 } }),
        consentFormCallback({ data: { id: 'b' } }),
      ];
      await apply(database, [...named, ...others]);
      await setTimes(database, { received_at: `now() - interval '2 years'`, applied_at: 'now()' });
      for (const body of [JSON.stringify(named[0]), '{"no":'])
        await database.rows(
          `insert into quarantine (id, path, reason, body, last_received_at)
         values (gen_random_uuid(), 'p', 'invalid', $1, now() - interval '2 years')`,
          [body],
        );
      await hold(business);
      const kept = since(base + 1);
      await run({ receipt: kept, consent_form: kept, review_request: kept, quarantine: yearMs });
      expect(await count('inbox')).toBe(3);
      for (const table of ['receipts', 'consent_forms', 'review_requests', 'quarantine'])
        expect([table, await count(table)]).toEqual([table, 1]);

      await database.rows('delete from patient_holds');
      await run({ receipt: kept, consent_form: kept, review_request: kept, quarantine: yearMs });
      expect([await count('inbox'), await count('quarantine')]).toEqual([0, 0]);
    },
  );

  it('keeps the parts of an admission, which name only the admission', async () => {
    const of = (id: string, pid: string) => [
      samples.admission({ event_time: base, data: { id, pid } }),
      samples.admission_clearance({
        event_time: base,
        transaction_id: `ipd/b/admissions/${id}/clearances/x`,
      }),
    ];
    await apply(database, [...of('a1', patient), ...of('a2', 'another')]);
    await hold('');
    await run({ admission: since(base + 1), admission_clearance: since(base + 1) });
    for (const [table, id] of [
      ['admissions', 'id'],
      ['admission_clearances', 'admission_id'],
    ])
      expect(await database.rows(`select ${id} as id from ${table}`)).toEqual([{ id: 'a1' }]);
  });

  it('of a patient of another business stops nothing', async () => {
    await apply(database, [receiptCallback({ data: { patient_oid: patient } })]);
    await hold('another');
    await run({ receipt: since(base + 1) });
    expect(await count('inbox')).toBe(0);
  });
});

describe('the quarantine', () => {
  it('loses bodies that were not received for the duration, but for acknowledged ones', async () => {
    await database.rows(`
      insert into quarantine (id, path, reason, body, acknowledged, received_at, last_received_at)
      select gen_random_uuid(), 'p', 'not_json', '{', n % 2 = 0, now() - interval '9 days',
             now() - n * interval '1 day' + interval '1 minute'
      from generate_series(1, 600) n`);
    expect(await run({ quarantine: (yearMs / 365.25) * 3 })).toMatchObject({
      quarantine: { quarantine: 298 },
    });
    expect(await count('quarantine')).toBe(302);
  });
});

describe('the access log', () => {
  const ago = (interval: string, condition: string) =>
    database.rows(`
      alter table access_log disable trigger user;
      update access_log set at = at - interval '${interval}' where ${condition};
      alter table access_log enable trigger user`);
  const add = (patients: string[]) => logAccess(database.db, { actor, action: 'reveal', patients });

  it('loses its oldest entries, with an entry that says so, and pseudonyms that no entry has', async () => {
    const both = await add(['in both', 'in the deleted one']);
    await add(['in the kept one', 'in both']);
    await ago('4 years', `entry <= ${both}`);
    await run({ access_log: 3 * yearMs });
    const entries = await database.rows('select * from access_log order by entry');
    expect(entries[0]!.entry).toBe(String(both + 1));
    expect(entries.at(-1)).toMatchObject({
      action: 'retention',
      filter: { access_log: { deleted: { access_log: expect.any(Number), patient_pseudonyms: 1 } } },
    });
    const pseudonyms = await database.rows('select patient_id from patient_pseudonyms order by 1');
    expect(pseudonyms.map(({ patient_id }) => patient_id)).toEqual(['in both', 'in the kept one']);
  });

  it('of the last calendar year stays, whatever the duration', async () => {
    const entry = await add([]);
    await ago('300 days', `entry <= ${entry}`);
    expect(await run({ access_log: 1 })).toMatchObject({ access_log: {} });
    expect(await database.rows(`select 1 from access_log where entry = ${entry}`)).toHaveLength(1);
  });
});

describe('erased data', () => {
  it('is destroyed when it is due and not held, and the certificate is completed', async () => {
    const [erasure] = await database.rows(
      `insert into erasures (erased_by, counts) values ('test', '{}') returning id`,
    );
    await database.rows(
      `insert into withheld.records (erasure_id, source, patients, destroy_at, received_at, content)
       select $1, 'inbox', array[sha256(patient::bytea)], now() + due, now(), '{}'
       from (values ('a', interval '-1 day'), ('held', '-1 day'), ('b', '1 day')) as v(patient, due)`,
      [erasure!.id],
    );
    await database.rows(`insert into patient_holds (hash, held_by) values (sha256('held'), 'test')`);
    const dry = await run({}, { dryRun: true });
    expect(dry).toEqual({ erased: { 'withheld.records': 1 } });
    expect(await run({})).toEqual(dry);
    expect(await count('withheld.records')).toBe(2);
    expect(await database.rows('select destroyed_at from erasures')).toEqual([{ destroyed_at: null }]);

    await database.rows(
      `delete from patient_holds; update withheld.records set destroy_at = now() - interval '1 second'`,
    );
    await run({});
    expect(await count('withheld.records')).toBe(0);
    expect(await database.rows('select 1 from erasures where destroyed_at <= now()')).toHaveLength(1);
    const [entry] = await database.rows('select * from access_log order by entry desc limit 1');
    expect(entry).toMatchObject({ action: 'destroy', rows: '2', filter: { completed: [erasure!.id] } });
  });
});

it('policies that fail stop no other, and what has to be destroyed is destroyed first', async () => {
  await apply(database, [receiptCallback()]);
  const [erasure] = await database.rows(
    `insert into erasures (erased_by, counts) values ('test', '{}') returning id`,
  );
  await database.rows(
    `insert into withheld.records (erasure_id, source, patients, destroy_at, received_at, content)
     values ($1, 'inbox', '{}', now(), now(), '{}')`,
    [erasure!.id],
  );
  await database.rows(`
    create function fail() returns trigger language plpgsql as $$ begin raise 'as a test wants'; end $$;
    create trigger fail before delete on consent_forms for each statement execute function fail();
    alter table quarantine rename to quarantine_away`);
  try {
    const steps: string[] = [];
    const onStep = (policy: string) => void steps.push(policy);
    await expect(run({ quarantine: 1, receipt: 1 }, { onStep })).rejects.toThrow(/quarantine/);
    expect(steps).toEqual(['erased', 'receipt']);
    await apply(database, [consentFormCallback()]);
    await expect(run({ consent_form: 1, quarantine: 1 })).rejects.toThrow(AggregateError);
    const entry = `select filter from access_log where action = 'retention' order by entry desc limit 1`;
    expect(await database.rows(entry)).toMatchObject([{ filter: { receipt: { deleted: { receipts: 1 } } } }]);
  } finally {
    await database.rows(`
      alter table quarantine_away rename to quarantine;
      drop trigger fail on consent_forms; drop function fail`);
  }
});

describe('a callback that is older than what is kept', () => {
  it('is acknowledged as expired, and leaves no trace but a count', async () => {
    const { receive, intake, close } = openIntake({ receipt: since(base + 1) });
    const old = receiptCallback({ data: { unknown_field: 1 } });
    expect(await receive(old)).toMatchObject({ status: 'expired', id: deliveryOf(old).id });
    const body = Buffer.from(JSON.stringify(old));
    for (const dryRun of [true, false])
      expect(await intake.replay(body, '/p', { dryRun })).toMatchObject({ outcome: 'expired' });
    await intake.drain(deliveryOf(old));
    expect(await receive(receiptCallback({ event_time: base + 9 }))).toMatchObject({ status: 'accepted' });
    expect(await receive(consentFormCallback())).toMatchObject({ status: 'accepted' });
    await close();
    expect([await count('inbox'), await count('quarantine')]).toEqual([2, 0]);
    expect(await database.rows(`select 1 from schema_drift where field = '/data/unknown_field'`)).toEqual([]);
  });
});
