import { replayDeliveries } from '../../src/apply/replay.ts';
import { families } from '../../src/families/index.ts';
import { exportErasures, listCertificates } from '../../src/privacy/erasure/erasure-list.ts';
import { verifyLog } from '../../src/privacy/log/verify-log.ts';
import { runRetention } from '../../src/privacy/retention/retention.ts';
import { copyDatabase } from '../../src/store/copy-database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { withClient } from '../../src/store/pool.ts';
import { adminToken, signInTo } from '../console/visitor.ts';
import { appointmentCallback, paths, receiptCallback } from '../support/callbacks.ts';
import { createDatabase, createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { erase, fill, readEverything, send, sendAgain } from '../support/everything.ts';
import { readPatient } from '../support/held.ts';
import { withSchema } from '../support/schema.ts';
import { startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const ours = `
  select c.oid, c.oid::regclass::text as name from pg_class c
  where relkind = 'r' and relnamespace::regnamespace::text in ('public', 'withheld')`;

/**
 * What a DBA and their tools add to every table: what each row gets by itself, a type without equality, and the names that
 * our other tables have. One column was dropped again.
 */
async function addForeignColumns({ rows, pool }: TestDatabase): Promise<number> {
  const tables = await rows(`
    with ours as (${ours}), names as (
      select distinct attname from ours join pg_attribute on attrelid = oid where attnum > 0 and not attisdropped
    )
    select name, (
      select string_agg(format('add %I text', attname), ', ') from names
      where not exists (select from pg_attribute a where a.attrelid = oid and a.attname = names.attname)
    ) as columns
    from ours`);
  for (const { name, columns } of tables) {
    await pool.query(`alter table ${name} add foreign_gone text;
      alter table ${name} drop foreign_gone, ${columns},
        add foreign_json json default '{}', add foreign_key text not null default gen_random_uuid()::text,
        add foreign_made text generated always as ('made') stored`);
  }
  return tables.length;
}

const base = 1_700_000_100;
/** Newer and older versions, and a deletion. */
const corrections = [
  [paths.receipt, receiptCallback({ event: 'receipt.updated', event_time: base, data: { net_amount: 2 } })],
  [
    paths.receipt,
    receiptCallback({ event: 'receipt.updated', event_time: base - 50, data: { net_amount: 3 } }),
  ],
  [
    paths.receipt,
    receiptCallback({ event: 'receipt.deleted', event_time: base + 1, data: { receipt_id: 9 } }),
  ],
  [paths.appointment, appointmentCallback({ event: 'appointment.updated', event_time: base })],
  [paths.receipt, receiptCallback({ data: { receipt_id: 10, patient_oid: 'erased-2' } })],
] as const;

/** Everything that happens to a database, with `between` in the middle of it. Returns what can be compared. */
async function live(database: TestDatabase, between: () => Promise<unknown>) {
  const { db, url, rows } = database;
  const seen: Record<string, unknown> & { pages?: (readonly [string, number])[] } = {};
  const applied = () => until(async () => (await rows('select from pending_deliveries')).length === 0);
  const service = await startTestService({ databaseUrl: url, adminToken });
  try {
    await fill(service, url);
    await between();
    seen.resent = await sendAgain(service);
    for (const [path, callback] of corrections) await send(service.url + path, callback);
    await applied();
    await rows(`
      with moved as (
        delete from applied_deliveries where family in ('receipt', 'appointment')
        returning id, family, received_at, applied_at
      )
      insert into failed_deliveries (id, family, received_at, applied_at, error)
      select id, family, received_at, applied_at, 'broken' from moved`);
    seen.replayed = await replayDeliveries(db, families, {}, { dryRun: false });
    seen.again = await replayDeliveries(db, families, { status: 'applied' }, { dryRun: false });
    const exported = await readPatient(database, families, { id: 'erased-2' });
    seen.exported = Object.entries(exported.data).map(([name, found]) => [name, found.length]);
    await erase(url, 'erased-2');
    // The newest version of a receipt goes, and an older one is its row again.
    await rows(
      `update inbox set event_time = '2020-01-01' where event = 'receipt.updated' and event_time = to_timestamp(${base})`,
    );
    seen.deleted = (
      await rows(`delete from deliveries where event = 'appointment.updated' returning 1`)
    ).length;
    seen.retention = (
      await runRetention(
        db,
        families,
        { bodies: Date.now(), quarantine: Date.now() },
        { actor: { id: 'test' } },
      )
    ).map(({ policy, deleted }) => [policy, deleted]);
    await erase(url, String(receiptCallback().data.patient_oid));
    seen.certificates = (await listCertificates(db)).map(({ counts }) => counts);
    const list = JSON.parse(await exportErasures(db, { id: 'test' }));
    seen.listed = Object.keys(list.certificates[0]);
    const problems: unknown[] = [];
    await verifyLog(db, { onProblem: (problem) => problems.push(problem) });
    seen.problems = problems;
    const visitor = await signInTo(service.url);
    const pages = [
      '/today',
      '/health',
      '/deliveries',
      '/problems',
      '/quarantine',
      '/search?q=1',
      '/reports/receipts',
      '/aliases',
      '/access-log',
      '/rejections',
    ];
    seen.pages = await Promise.all(
      pages.map(async (page) => [page, (await visitor.get(page)).status] as const),
    );
  } finally {
    await service.stop();
  }
  await withSchema(
    { 'migrations/9001_next.sql': 'alter table receipts add next_field text;' },
    async (folder) => {
      seen.migrated = await migrate(db, undefined, folder);
    },
  );
  await rows(
    `alter table receipts drop next_field; delete from receiver_migrations where name = '9001_next'`,
  );
  seen.reports = await migrate(db);
  return seen;
}

/** What is kept of sums, terms and checks depends on which deliveries were applied together, and on whether the worker has made them again. */
const isMadeLater = (name: string) => /^(outdated_|kept_)|^(receipt_terms|state_checks)$/.test(name);
const countsOf = async (url: string) =>
  Object.fromEntries(
    Object.entries(await readEverything(url)).flatMap(([name, found]) =>
      isMadeLater(name) ? [] : [[name, found.length]],
    ),
  );

it('whatever columns a DBA adds to each of our tables, everything goes on as without them', async () => {
  const [plain, strange, target] = await Promise.all([
    createDatabase(),
    createDatabase(),
    createEmptyDatabase(),
  ]);
  try {
    let tables = 0;
    const [expected, found] = await Promise.all([
      live(plain, async () => {}),
      live(strange, async () => {
        tables = await addForeignColumns(strange);
      }),
    ]);
    expect(expected.pages!.filter(([, status]) => status !== 200)).toEqual([]);
    expect(tables).toBeGreaterThan(30);
    expect(found).toEqual(expected);
    expect(await countsOf(strange.url)).toEqual(await countsOf(plain.url));
    const kept = `select business_id, receipt_id, last_event, net_amount, delivery_id from receipts
      union all select business_id, receipt_id, last_event, net_amount, delivery_id from receipt_versions order by 2, 5`;
    expect(await strange.rows(kept)).toEqual(await plain.rows(kept));

    await migrate(target.db);
    const { leftOut } = await withClient(strange.url, (from) =>
      withClient(target.url, (into) =>
        copyDatabase(from, into, {
          beforeCopy: async () => {},
          onTotal: () => {},
          onRows: () => {},
          beforeCommit: () => {},
        }),
      ),
    );
    expect(leftOut).toContain('inbox.foreign_key');
    expect(await countsOf(target.url)).toEqual(await countsOf(strange.url));
  } finally {
    await Promise.all([plain, strange, target].map((database) => database.close()));
  }
});
