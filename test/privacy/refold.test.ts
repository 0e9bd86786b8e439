import fc from 'fast-check';
import { sql } from 'kysely';
import { applyStatement } from '../../src/apply/apply-statement.ts';
import { saidTime } from '../../src/families/field.ts';
import { type Family, families } from '../../src/families/index.ts';
import { rowsMadeOf } from '../../src/families/rows.ts';
import { keyOf, listOf, literal } from '../../src/families/sql.ts';
import { readProblems } from '../../src/health/read-problems.ts';
import { deleteDeliveries } from '../../src/privacy/delete-deliveries.ts';
import { refoldNext } from '../../src/privacy/refold.ts';
import {
  findDuePass,
  markMovedRead,
  readMoved,
  refoldAll,
  runDuePass,
} from '../../src/privacy/refold-pass.ts';
import { runRetention } from '../../src/privacy/retention/retention.ts';
import { runText } from '../../src/store/transactions.ts';
import { consentFormCallback, receiptCallback, samples } from '../support/callbacks.ts';
import { createDatabase, useDatabase } from '../support/database.ts';
import { apply, clear, insertCallbacks } from '../support/deliveries.ts';
import { runCommand } from '../support/run-command.ts';
import { until } from '../support/until.ts';

const all: readonly Family[] = families;
const database = useDatabase();
beforeEach(async () => {
  await clear(
    database,
    'moved_sums',
    'changed_records',
    'change_feed',
    'appointment_starts',
    'workers',
    'erasing',
  );
  await database.rows(
    `update refolds set family = null, after_key = null, began_at = null, completed_at = null, former_at = null, unmended = 0`,
  );
});

const tables = all.flatMap(({ table, versions }) => [table, ...(versions ? [versions] : [])]);

/** Every row that is made of callbacks. */
const everything = async () => {
  const contents = await Promise.all(
    [...tables, 'appointment_starts'].map(async (table) => [
      table,
      (await database.rows(`select to_jsonb(t) as row from ${table} t order by delivery_id`)).map(
        ({ row }) => row,
      ),
    ]),
  );
  return Object.fromEntries(contents);
};

/**
 * Writes the rows as a former version did: each is what one version said, as a whole, also of times that say nothing.
 *
 * @param newest which version is the row, where the order was another: SQL for a row of the family's table
 */
async function writeAsFormerly(newest = 'md5(delivery_id::text)'): Promise<void> {
  const names = (await database.rows('select distinct family from inbox')).map(({ family }) => family);
  for (const family of all.filter(({ name }) => names.includes(name))) {
    const { table, versions, fields } = family;
    const { columns, query } = rowsMadeOf(family, 'loaded');
    const times = Object.entries(fields).filter(([, { schema }]) => schema === saidTime.schema);
    const asTimes = times.map(
      ([field]) =>
        `case when extra ? ${literal(field)} then jsonb_build_object(${literal(field)}, callback_time(extra->${literal(field)})) else '{}' end`,
    );
    const masked = family.identifiedBy ? `|| '{"carried": null}'` : '';
    const key = listOf(keyOf(family));
    await database.rows(`delete from ${table}; ${versions ? `delete from ${versions};` : ''}`);
    await database.rows(`create table former as
      with loaded as (select d.*, a.applied_at from inbox d join applied_deliveries a using (id)), said as (${query}), raw as (
        select (jsonb_populate_record(null::${table}, to_jsonb(said) ${['', ...asTimes].join(' || ')} ${masked}
          || jsonb_build_object('extra', extra - array[${times.map(([field]) => literal(field)).join(', ')}]::text[]))).*
        from said
      )
      select row_number() over (partition by ${key} order by ${newest} desc) as place, ${listOf(columns)} from raw`);
    await database.rows(
      `insert into ${table} (${listOf(columns)}) select ${listOf(columns)} from former where place = 1`,
    );
    if (versions)
      await database.rows(
        `insert into ${versions} (${listOf(columns)}) select ${listOf(columns)} from former where place > 1`,
      );
    await database.rows('drop table former');
  }
}

const runPass = (options = { dryRun: false }) => refoldAll(database.db, all, options);
const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
const untilItWaits = () => until(async () => (await database.rows(waiting)).length > 0);
const openFeed = () => database.rows(`insert into change_feed (secret) values ('')`);
const told = async () =>
  (await database.rows('select unnest(families) as family, unnest(ids) as id from changed_records')).map(
    ({ family, id }) => `${family} ${id}`,
  );
const receipt = (event: string, second: number, data: object) => {
  const { data: whole, ...envelope } = receiptCallback({ event: `receipt.${event}` });
  return {
    ...envelope,
    event_time: envelope.event_time + second,
    data: { receipt_id: whole.receipt_id, ...data },
  };
};
const paid = () => [receiptCallback(), receipt('updated', 60, { amount_paid: 490.05 })];
const rowOfReceipt = async () => (await database.rows('select * from receipts'))[0]!;

/** Lean and oddly timed versions of a few records of every family. */
const histories = fc.array(
  fc
    .record({
      family: fc.constantFrom(...all.filter(({ name }) => name !== 'other')),
      event: fc.nat(9),
      second: fc.integer({ min: 0, max: 2 }),
      lacks: fc.array(fc.nat(30), { maxLength: 12 }),
      odd: fc.array(fc.nat(30), { maxLength: 4 }),
      extra: fc.dictionary(fc.constantFrom('x', 'start_time'), fc.constantFrom(1, '1700000000', null), {
        maxKeys: 1,
      }),
      n: fc.nat(999),
    })
    .map(({ family, event, second, lacks, odd, extra, n }) => {
      const { data, ...envelope } = samples[family.name as keyof typeof samples]();
      const names = Object.keys(data);
      const own = Object.entries(data).flatMap(([name, value], index) => {
        if (name === family.identifiedBy) return [[name, value]];
        if (lacks.some((lack) => names[lack] === name)) return [];
        if (family.fields[name]?.schema === saidTime.schema && odd.includes(index)) return [[name, 0]];
        return [
          [
            name,
            typeof value === 'string' && !name.endsWith('_at') && !/date|^at$/.test(name)
              ? `${value} ${n}`
              : value,
          ],
        ];
      });
      return {
        ...envelope,
        event: family.events[event % family.events.length]!,
        event_time: envelope.event_time + second,
        data: { ...Object.fromEntries(own), ...extra },
      };
    }),
  { minLength: 1, maxLength: 30 },
);

it('rows as a former version wrote them are the same as in a new database after the pass, and a second pass changes nothing', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (callbacks) => {
      await clear(database, 'moved_sums', 'changed_records', 'appointment_starts');
      await apply(database, callbacks);
      const expected = await everything();
      await writeAsFormerly();
      await runPass();
      expect(await everything()).toEqual(expected);
      await database.rows(`delete from moved_sums; delete from changed_records;
        insert into change_feed (secret) select '' where not exists (select from change_feed)`);
      expect(await runPass()).toMatchObject({ changed: 0, moved: [] });
      expect(await told()).toEqual([]);
      await database.rows('delete from change_feed');
    }),
    { numRuns: 15 },
  );
});

it('a lean update of a former version has the rest of the receipt again, and says which sums that moves', async () => {
  await apply(database, paid());
  await writeAsFormerly('event_time');
  expect(await rowOfReceipt()).toMatchObject({
    name: null,
    clinic_id: null,
    net_amount: null,
    amount_paid: '490.05',
  });
  await runPass();
  expect(await rowOfReceipt()).toMatchObject({
    name: 'आशा राव',
    net_amount: '490.05',
    amount_paid: '490.05',
  });
  expect(await readMoved(database.db)).toEqual({
    unmended: 0,
    moved: [
      {
        day: '2023-11-15',
        business_id: receiptCallback().business_id,
        net_before: '0',
        net_after: '490.05',
        paid_before: '490.05',
        paid_after: '490.05',
        due_before: '0',
        due_after: '0.00',
      },
    ],
  });
});

it('the feed tells each record that shows another row, once', async () => {
  await apply(database, [...paid(), consentFormCallback(), receiptCallback({ data: { receipt_id: 2 } })]);
  const { owner: _, ...form } = consentFormCallback().data;
  const lean = { ...consentFormCallback({ event: 'mcert.updated' }), event_time: 1_700_000_009 };
  await apply(database, [{ ...lean, data: { ...form, id: 'other' } }]);
  await writeAsFormerly('event_time');
  await openFeed();
  await runPass();
  // The other form shows what it showed: nobody has said its owner.
  expect(await told()).toEqual(['receipt 4711']);
});

it('a pass that is interrupted between two steps goes on where it was', async () => {
  const ids = Array.from({ length: 450 }, (_, index) => index + 1);
  const callbacks = ids.flatMap((receipt_id) => {
    const [created, updated] = paid();
    return [created!, updated!].map((one) => ({ ...one, data: { ...one.data, receipt_id } }));
  });
  await apply(database, callbacks);
  const expected = await everything();
  await writeAsFormerly('event_time');
  const first = await runDuePass(database.db, all, (await findDuePass(database.db))!);
  expect(first).toMatchObject({ records: 200, changed: 200, isComplete: false });
  expect(await findDuePass(database.db)).toEqual({
    place: { family: 'receipt', after: [receiptCallback().business_id, '200'] },
  });
  let records = first.records;
  for (let due = await findDuePass(database.db); due; due = await findDuePass(database.db))
    records += (await runDuePass(database.db, all, due)).records;
  expect(records).toBe(450);
  expect(await everything()).toEqual(expected);
  expect(await database.rows('select records, changed, unmended from refolds')).toEqual([
    { records: '450', changed: '450', unmended: '0' },
  ]);
});

it('another pass is due after a worker of a former version was seen, once that is gone', async () => {
  await runPass();
  expect(await findDuePass(database.db)).toBeUndefined();
  await database.rows(`insert into workers (id, families, seen_at) values (gen_random_uuid(), '{}', now())`);
  expect(await findDuePass(database.db)).toBeUndefined();
  await database.rows(`update refolds set began_at = now() - interval '1 hour'`);
  await database.rows(`delete from workers; update refolds set former_at = now() - interval '2 minutes'`);
  expect(await findDuePass(database.db)).toEqual({ place: undefined });
  await runPass();
  expect(await findDuePass(database.db)).toBeUndefined();
});

it('a row that a former worker has written since is folded again: what it carried is not of its delivery', async () => {
  const lean = [receipt('updated', 60, { amount_paid: 1 }), receipt('updated', 120, { remarks: 'x' })];
  await apply(database, [receiptCallback(), lean[0]!]);
  const { carried } = await rowOfReceipt();
  await apply(database, [lean[1]!]);
  const expected = await everything();
  await writeAsFormerly('event_time');
  await database.rows('update receipts set carried = $1', [carried]);
  await runPass();
  expect(await everything()).toEqual(expected);
});

it('when an appointment begins is known by the place that its version really has', async () => {
  const created = samples.appointment();
  const data = { ...created.data, modified_at: 0, start_time: 1_700_003_600 };
  await apply(database, [
    created,
    { ...created, event: 'appointment.updated', event_time: created.event_time + 9, data },
  ]);
  const expected = await everything();
  expect(expected.appointment_starts).toHaveLength(1);
  await writeAsFormerly('event_time');
  await runPass();
  expect(await everything()).toEqual(expected);
});

describe('where retention has reduced bodies', () => {
  const reduce = () => runRetention(database.db, all, { bodies: 1 }, { actor: { id: 'test' } });

  it('a row stays, and is counted if it may lack something', async () => {
    const form = consentFormCallback();
    const { id } = form.data;
    await apply(database, [
      ...paid(),
      form,
      { ...form, event: 'mcert.updated', event_time: form.event_time + 9, data: { id, type: 'x' } },
    ]);
    await writeAsFormerly('event_time');
    await database.rows('update receipts set created_at = event_time, updated_at = event_time');
    await reduce();
    const before = await everything();
    for (let pass = 1; pass <= 2; pass += 1)
      expect(await runPass()).toMatchObject({ changed: 0, unmended: 2, moved: [] });
    expect(await everything()).toEqual(before);
  });

  it('a time that says nothing is recognized by itself', async () => {
    await apply(database, [
      receiptCallback(),
      receipt('updated', 60, { ...receiptCallback().data, created_at: 0 }),
    ]);
    const { created_at } = await rowOfReceipt();
    await writeAsFormerly('event_time');
    expect((await rowOfReceipt()).created_at).toEqual(new Date(0));
    await reduce();
    expect(await runPass()).toMatchObject({ changed: 1, unmended: 0 });
    expect((await rowOfReceipt()).created_at).toEqual(created_at);
    expect((await readMoved(database.db)).moved.map(({ day }) => day)).toEqual(['1970-01-01', '2023-11-15']);
    expect(await runPass()).toMatchObject({ changed: 0, unmended: 0 });
  });

  it('what a row has of a callback whose body is gone stays', async () => {
    const form = consentFormCallback();
    await apply(database, [form]);
    await reduce();
    await apply(database, [
      {
        ...form,
        event: 'mcert.updated',
        event_time: form.event_time + 9,
        data: { id: form.data.id, type: 'x' },
      },
    ]);
    const before = await everything();
    expect(await runPass()).toMatchObject({ changed: 0, unmended: 0 });
    expect(await everything()).toEqual(before);
  });
});

it('a dry run changes nothing, and says which sums would move', async () => {
  await apply(database, paid());
  await writeAsFormerly('event_time');
  await openFeed();
  const before = await everything();
  expect(await runPass({ dryRun: true })).toMatchObject({
    changed: 1,
    moved: [{ day: '2023-11-15', net_before: '0', net_after: '490.05' }],
  });
  expect(await everything()).toEqual(before);
  expect([await told(), (await readMoved(database.db)).moved]).toEqual([[], []]);
});

it('what an erasure is about to delete is left as it is', async () => {
  await apply(database, paid());
  await writeAsFormerly('event_time');
  await database.rows(`insert into erasing (id, erasure_id, family, thing_family, business_id, thing)
    select id, gen_random_uuid(), family, family, business_id, '4711' from inbox order by id limit 1`);
  const before = await everything();
  expect(await runPass()).toMatchObject({ records: 1, changed: 0 });
  expect(await everything()).toEqual(before);
});

it('a newer version that is applied meanwhile is not lost: the pass waits for it', async () => {
  const callbacks = paid();
  await apply(database, callbacks);
  await writeAsFormerly('event_time');
  const ids = await insertCallbacks(database, [receipt('updated', 120, { remarks: 'new' })]);
  const worker = await database.db.startTransaction().execute();
  await runText(worker, applyStatement(all, 'received'), [ids]);
  const pass = runPass();
  await untilItWaits();
  await worker.commit().execute();
  await pass;
  const found = await everything();
  expect(found.receipts).toEqual([
    expect.objectContaining({ remarks: 'new', name: 'आशा राव', amount_paid: 490.05 }),
  ]);
  expect(found.receipt_versions).toHaveLength(2);
});

it('what an erasure has deleted meanwhile does not come back', async () => {
  const ids = await apply(database, paid());
  await writeAsFormerly('event_time');
  const erasure = await database.owner.db.startTransaction().execute();
  await sql`lock table erased in exclusive mode`.execute(erasure);
  const pass = runPass();
  await untilItWaits();
  await deleteDeliveries(erasure, all, ids, 'erased');
  await erasure.commit().execute();
  expect(await pass).toMatchObject({ changed: 0 });
  expect((await everything()).receipts).toEqual([]);
});

it('a new database has nothing to do', async () => {
  const fresh = await createDatabase();
  try {
    expect(await findDuePass(fresh.db)).toBeUndefined();
  } finally {
    await fresh.close();
  }
});

it('receiver replay --fields prints the sums that move, and doctor says so until somebody has read it', async () => {
  await apply(database, paid());
  await writeAsFormerly('event_time');
  const run = (...options: string[]) =>
    runCommand(['replay', '--fields', ...options], { DATABASE_URL: database.url });
  const problems = async () =>
    (await readProblems(database.pool))
      .filter(({ kind }) => kind === 'moved sums')
      .map(({ detail }) => detail);
  const line = /2023-11-15\s*│\s*\w+\s*│\s*0\s*│\s*490\.05/;
  expect(await run('--dry-run')).toEqual({
    code: 0,
    output: expect.stringMatching(/2023-11-15[\s\S]*1 of 1 records would be made anew, 0 may lack/),
  });
  expect(await problems()).toEqual([]);
  const { output } = await run();
  expect(output).toMatch(line);
  expect(output).toMatch(/1 of 1 records made anew, 0 may lack/);
  expect(await problems()).toEqual([
    expect.stringMatching(/^1 days, 2023-11-15 to 2023-11-15.*replay --fields --moved/),
  ]);
  expect((await run('--moved')).output).toMatch(line);
  await run('--read');
  expect(await problems()).toEqual([]);
  expect(await markMovedRead(database.db)).toBe(0);
  expect((await run('--moved')).output).not.toMatch(line);
});

it('one that the database refuses keeps no other from being made anew', async () => {
  await apply(database, [
    ...paid(),
    ...paid().map((one) => ({ ...one, data: { ...one.data, receipt_id: 2 } })),
  ]);
  await writeAsFormerly('event_time');
  await database.rows(`alter table receipts add constraint odd check (receipt_id <> 2 or name is null)`);
  try {
    expect(await refoldNext(database.db, all, undefined)).toMatchObject({
      records: 2,
      changed: 1,
      unmended: 1,
    });
    expect(await database.rows('select receipt_id from receipts where name is not null')).toEqual([
      { receipt_id: '4711' },
    ]);
  } finally {
    await database.rows('alter table receipts drop constraint odd');
  }
});
