import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { applyDeliveries } from '../../src/apply/apply.ts';
import { families } from '../../src/families/index.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import { migrate } from '../../src/store/migrate.ts';
import { deliveryOf, receiptCallback } from '../support/callbacks.ts';
import { createEmptyDatabase } from '../support/database.ts';
import { migrations, ownSchema, readCatalogue, withSchema } from '../support/schema.ts';

// A copy of db/ as of each release.
const releases = join(import.meta.dirname, 'releases');

/** The differences between a database upgraded from one state of db/ to another and a new one. */
async function compare(from: string, to: string) {
  const upgraded = await createEmptyDatabase();
  const fresh = await createEmptyDatabase();
  try {
    await migrate(upgraded.db, undefined, from);
    await migrate(upgraded.db, undefined, to);
    await migrate(fresh.db, undefined, to);
    const [lines, expected] = [await readCatalogue(upgraded), await readCatalogue(fresh)];
    expect(expected.length).toBeGreaterThan(100);
    return {
      missing: expected.filter((line) => !lines.includes(line)),
      additional: lines.filter((line) => !expected.includes(line)),
    };
  } finally {
    await upgraded.close();
    await fresh.close();
  }
}

it.each(readdirSync(releases))('an upgraded database of release %s equals a new one', async (release) => {
  expect(await compare(join(releases, release), ownSchema)).toEqual({ missing: [], additional: [] });
});

it('an upgrade from 1.0.0 keeps every delivery with its status and times, every version, and grants', async () => {
  const database = await createEmptyDatabase();
  const role = `analyst_${randomBytes(4).toString('hex')}`;
  const created = receiptCallback();
  const updated = receiptCallback({ event: 'receipt.updated', event_time: 1_700_000_009 });
  const [waiting, failed] = [2, 3].map((receipt_id) => receiptCallback({ data: { receipt_id } }));
  try {
    await migrate(database.db, undefined, join(releases, '1.0.0'));
    await database.pool.query(`create role ${role}; grant select on deliveries to ${role}`);
    for (const [callback, status, count] of [
      [created, 'applied', 3],
      [updated, 'applied', 1],
      [waiting, 'received', 2],
      [failed, 'failed', 1],
    ] as const) {
      const { id, family } = deliveryOf(callback as never);
      await database.pool.query(
        `insert into deliveries (id, event, family, client_id, business_id, event_time, envelope, status, error,
                                 delivery_count, received_at, last_received_at, applied_at)
         select $1::uuid, e->>'event', $2::text, e->>'client_id', e->>'business_id',
                service_time((e->>'event_time')::numeric), e, $4::text,
                case $4 when 'failed' then 'broken' end, $5::int, now(), now() + ($5::int - 1) * interval '1 minute',
                case $4 when 'applied' then now() + interval '1 second' end
         from (select $3::jsonb as e) as callback`,
        [id, family, callback, status, count],
      );
    }
    const columns =
      'business_id, receipt_id, client_id, last_event, event_time, extra, delivery_id, net_amount';
    await database.pool.query(`
      insert into receipt_versions (${columns}, received_at, applied_at)
      select business_id, reporting.receipt_id(envelope), client_id, event, event_time, '{}', id, 12.5,
             received_at, applied_at
      from deliveries where status = 'applied';
      insert into receipts (${columns})
      select ${columns} from receipt_versions where last_event = 'receipt.updated'`);
    const read = async () => [
      await database.rows('select * from deliveries order by id'),
      await database.rows('select * from reporting.deliveries order by delivery_id'),
      await database.rows(`select business_id, receipt_id, version, event, net_amount, received_at, applied_at,
        delivery_id from reporting.receipt_history order by version`),
      await database.rows(
        "select net_amount, delivery_id from reporting.receipts_as_of(now() + interval '1 day')",
      ),
      await database.rows(`select has_table_privilege($1, 'deliveries', 'select') as granted`, [role]),
    ];
    const before = await read();
    expect(before.map((rows) => rows.length)).toEqual([4, 4, 2, 1, 1]);

    await migrate(database.db);
    expect(await read()).toMatchObject(before);

    const known = [created, updated, waiting, failed].map((callback) => deliveryOf(callback as never));
    expect(await insertDeliveries(database.pool, known)).toEqual(Array(4).fill('duplicate'));
    const ids = known.map(({ id }) => id);
    expect(await applyDeliveries(database.db, families, ids)).toMatchObject({ applied: 1 });
    expect(await applyDeliveries(database.db, families, ids, { status: 'failed' })).toMatchObject({
      applied: 1,
    });
    expect(
      await database.rows('select delivery_count, status from deliveries order by event_time, id'),
    ).toEqual(
      expect.arrayContaining([
        { delivery_count: 4, status: 'applied' },
        { delivery_count: 3, status: 'applied' },
      ]),
    );
  } finally {
    await database.pool.query(`drop owned by ${role}; drop role ${role}`);
    await database.close();
  }
});

it('every release of CHANGELOG.md has its folder, and is upgraded by these tests', () => {
  const changelog = readFileSync('CHANGELOG.md', 'utf8');
  const released = Array.from(changelog.matchAll(/^## \[(.+)\] - \d{4}-\d\d-\d\d$/gm), ([, name]) => name);
  expect(released).toContain('1.0.0');
  expect(readdirSync(releases).sort()).toEqual(released.sort());
});

it('an upgrade from 1.0.0 keeps the rows of every other table, and the reports of them', async () => {
  const database = await createEmptyDatabase();
  const [form, request] = [1, 2].map((n) => `018bcfe5-6800-8cf5-a8c6-b066cb2ccd4${n}`);
  try {
    await migrate(database.db, undefined, join(releases, '1.0.0'));
    await database.pool.query(`
      insert into consent_forms (business_id, id, docid, owner, patientid, url, client_id, last_event, event_time, extra, delivery_id)
      values ('b', 'form', 'd', 'b', 'p', 'https://a.example/1.pdf', 'c', 'mcert.updated', '2026-01-02', '{"more": 1}', '${form}');
      insert into review_requests (business_id, doctor_id, patient_id, client_id, last_event, event_time, extra, delivery_id)
      values ('b', 'd', 'p', 'c', 'google_review.request', '2026-01-03', '{}', '${request}');
      insert into quarantine (id, path, reason, errors, body, count)
      values ('${form}', '/receipts', 'not_json', '[{"path": "", "message": "no"}]', 'not json', 3);
      insert into callback_paths (path, family) values ('/former', 'receipt');
      insert into schema_drift (event, field, kind, count, first_seen, last_seen, example_delivery)
      values ('receipt.created', '/data/new', 'unknown', 7, '2026-01-01', '2026-01-02', '${form}')`);
    const tables = [
      'consent_forms',
      'review_requests',
      'quarantine',
      'callback_paths',
      'schema_drift',
      'database_identity',
    ];
    const read = () =>
      Promise.all(
        [...tables, 'reporting.consent_forms', 'reporting.review_requests'].map((name) =>
          database.rows(`select * from ${name}`),
        ),
      );
    const before = await read();
    expect(before.map((rows) => rows.length)).toEqual(Array(8).fill(1));
    await migrate(database.db);
    expect(await read()).toMatchObject(before);
  } finally {
    await database.close();
  }
});

it('the list of migrations is found under its first name, too', async () => {
  const database = await createEmptyDatabase();
  try {
    await migrate(database.db, undefined, join(releases, '1.0.0'));
    await database.pool.query('alter table receiver_migrations rename to schema_migrations');
    expect(await migrate(database.db)).toEqual([...migrations.slice(1), 'reporting']);
    expect(await migrate(database.db)).toEqual([]);
  } finally {
    await database.close();
  }
});

describe('a difference is found', () => {
  it('if a view was removed and no migration drops it', async () => {
    await withSchema(
      { 'reporting/9_more.sql': 'create or replace view reporting.more as select;' },
      async (from) => {
        const { missing, additional } = await compare(from, ownSchema);
        expect(missing).toEqual([]);
        expect(additional).toContainEqual(expect.stringContaining('view | reporting.more'));
      },
    );
  });
});
