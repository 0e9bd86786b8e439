import fc from 'fast-check';
import { sql } from 'kysely';
import { saidTime } from '../../src/families/field.ts';
import { type Family, families } from '../../src/families/index.ts';
import { rowsMadeOf } from '../../src/families/rows.ts';
import { keyOf, listOf, literal } from '../../src/families/sql.ts';
import { deleteDeliveries } from '../../src/privacy/delete-deliveries.ts';
import { readMoved, refoldAll } from '../../src/privacy/refold-pass.ts';
import { runRetention } from '../../src/privacy/retention/retention.ts';
import { consentFormCallback, receiptCallback, samples } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { apply, clear } from '../support/deliveries.ts';
import { until } from '../support/until.ts';

const all: readonly Family[] = families;
const database = useDatabase();
beforeEach(async () => {
  await clear(database, 'moved_sums', 'changed_records', 'change_feed', 'workers', 'erasing');
  await database.rows(
    `update refolds set family = null, after_key = null, began_at = null, completed_at = null, former_at = null, unmended = 0`,
  );
});

const tables = all.flatMap(({ table, versions }) => [table, ...(versions ? [versions] : [])]);

/** Every row that is made of callbacks. */
const everything = async () => {
  const contents = await Promise.all(
    tables.map(async (table) => [
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
const openFeed = () => database.rows(`insert into change_feed default values`);
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
      await clear(database, 'moved_sums', 'changed_records');
      await apply(database, callbacks);
      const expected = await everything();
      await writeAsFormerly();
      await runPass();
      expect(await everything()).toEqual(expected);
      await database.rows(`delete from moved_sums; delete from changed_records;
        insert into change_feed (place) select null where not exists (select from change_feed)`);
      expect(await runPass()).toMatchObject({ changed: 0, moved: [] });
      expect(await told()).toEqual([]);
      await database.rows('delete from change_feed');
    }),
    { numRuns: 4 },
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

it('what an erasure has deleted meanwhile does not come back', async () => {
  const ids = await apply(database, paid());
  await writeAsFormerly('event_time');
  const erasure = await database.db.startTransaction().execute();
  await sql`lock table erased in exclusive mode`.execute(erasure);
  const pass = runPass();
  await untilItWaits();
  await deleteDeliveries(erasure, all, ids, 'erased');
  await erasure.commit().execute();
  expect(await pass).toMatchObject({ changed: 0 });
  expect((await everything()).receipts).toEqual([]);
});
