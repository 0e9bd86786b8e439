import { features } from '../../src/app/features.ts';
import { dayMs } from '../../src/common/days.ts';
import { lists } from '../../src/console/lists/definitions.ts';
import { patientHandle } from '../../src/console/patient-handle.ts';
import { hrefTo } from '../../src/console/ui/context.ts';
import { createScrape } from '../../src/operations/scrape.ts';
import type { RunningCore } from '../../src/receiver/feature.ts';
import { openApp, visitAs } from '../console/support.ts';
import { connect, type TestDatabase } from '../support/database.ts';
import { fill } from '../support/fill.ts';
import { collectReads, explainAll, type Read } from '../support/plans.ts';
import { createReceiverDatabase } from '../support/receiver-database.ts';
import { runCommand } from '../support/run-command.ts';
import { tempFolder } from '../support/temp-folder.ts';

/** A tenth of a table; a smaller table is read in some milliseconds. */
const [maxShare, minRows] = [0.1, 5_000];
/** Rejected bodies have a limit of their size, and heartbeats of their age; an index of ranges of pages counts no rows. */
const bounded = /^receiver\.(quarantine|heartbeats)$|^(inbox_day|inbox_stored|access_log_at)$/;

/** What may read more, with its reason. Not run: `rebuild`, `move` and `erasures apply`, which read all, as they say. */
const allowed: readonly { by: RegExp; table: string; reason: string }[] = [
  {
    by: /erase --dry-run|\/erase$/,
    table: 'receiver.inbox',
    reason: 'any body may have the id of a patient as text, and a person is shown each of them',
  },
  { by: /^\/takings/, table: 'public.receipts', reason: 'thirteen months, which are kept for ten minutes' },
  { by: /^\/(health|names)/, table: 'public.receipts', reason: 'at most 20,000 rows' },
  { by: /^\/(health|names)/, table: 'public.appointments', reason: 'at most 20,000 rows' },
  { by: /^\/access-log$/, table: 'public.access_log', reason: 'it counts at most 100,000 rows' },
  {
    by: /person=/,
    table: 'public.access_log',
    reason: 'seldom asked, and an index would cost every entry',
  },
  { by: /^task changes/, table: 'receiver.changes', reason: 'once a day' },
  { by: /^task silence/, table: 'receiver.inbox', reason: '118 days of any history, every ten minutes' },
  {
    by: /^task retention/,
    table: 'public.receipts',
    reason: 'once a day it looks for rows without callbacks',
  },
  { by: /^task retention/, table: 'receiver.inbox', reason: 'the same' },
  { by: /^task retention/, table: 'public.access_log', reason: 'ranges of pages, of those that are old' },
];

/** What pages, checks, commands and tasks read of a database with so many callbacks, beyond a tenth of a table. */
export async function findFullReads(callbacks: number): Promise<string[]> {
  const made = await createReceiverDatabase();
  try {
    await fill(made.pool, callbacks);
    const sizes = await sizesOf(made);
    await made.rows(explainAll(new URL(made.url).pathname.slice(1)));
    const { pool, ...database } = connect(made.url);
    const reads = await runAll({ ...made, ...database, pool }).finally(() => pool.end());
    expect(reads.length).toBeGreaterThan(500);
    const isFull = ({ by, table, rows }: Read) => {
      const size = sizes.get(table) ?? 0;
      return (
        size >= minRows &&
        rows >= size * maxShare &&
        !bounded.test(table) &&
        !allowed.some((one) => one.by.test(by) && one.table === table)
      );
    };
    const lines = reads
      .filter(isFull)
      .map(
        ({ by, table, rows, scan, statement }) =>
          `${by}: ${scan} of ${table}, ${rows} rows: ${statement.slice(0, 300)}`,
      );
    return [...new Set(lines)];
  } finally {
    await made.close();
  }
}

/** The rows of tables, and of those of indexes, by their names. */
async function sizesOf({ rows }: TestDatabase): Promise<Map<string, number>> {
  const tables = await rows(`
    select format('%s.%s', relnamespace::regnamespace, relname) as name, reltuples::int as rows from pg_class
    where relkind = 'r' and relnamespace::regnamespace::text in ('public', 'receiver')
    union all select i.relname, t.reltuples::int from pg_index join pg_class i on i.oid = indexrelid join pg_class t on t.oid = indrelid`);
  return new Map(tables.map(({ name, rows }) => [String(name), Number(rows)]));
}

async function runAll(database: TestDatabase): Promise<Read[]> {
  const { reads, run } = collectReads(database.pool);
  const { core, app } = openApp(database, { databaseUrl: database.url }, (given) =>
    Object.assign(given, { features }),
  );
  const [one] = (await database.rows(sample)) as [Record<string, string>];
  const visitor = await visitAs(app, database, ['viewer', 'desk', 'operator', 'privacy']);
  for (const path of pagesOf(core, one))
    await run(path, async () => expect([200, 303, 400]).toContain((await visitor.get(path)).status));
  for (const command of commandsOf(one, tempFolder()))
    await run(command, () =>
      runCommand(
        core,
        (program, onCore) => {
          for (const { commands } of features) commands?.(program, onCore);
        },
        ...command.split(' '),
      ),
    );
  process.exitCode = undefined; // of the doctor
  await run('metrics', () => createScrape(core)());
  // After the first look at all rows.
  await database.rows(`insert into receiver.settings values ('stale_merged', now()::text)`);
  const retention = { receipt: 400 * dayMs, quarantine: 400 * dayMs, access_log: 600 * dayMs };
  const limited: RunningCore = { ...core, config: { ...core.config, retention } };
  // Sending goes on until it is ended.
  for (const task of features.flatMap(({ tasks }) => tasks?.(limited) ?? []))
    if (task.name !== 'destinations')
      await run(`task ${task.name}`, () => task.run(new AbortController().signal));
  return reads;
}

const sample = `
select i.id, business_id as business, record_id as record, subjects[1] as subject, substr(subjects[1], 12) as patient,
       d->>'mobile' as mobile, d->>'name' as name, split_part(d->>'name', ' ', 1) as first, d->>'receipt_number' as number,
       (select id from receiver.quarantine limit 1) as body
from receiver.inbox i cross join lateral (select envelope->'data') of (d)
where family = 'receipt' and received_at < now() - interval '10 days' order by received_at desc limit 1`;

function pagesOf(
  { config }: RunningCore,
  { id, business, record, subject, patient, mobile, name, first, number, body }: Record<string, string>,
) {
  const handle = patientHandle(config, [subject!]);
  const terms = [
    patient,
    record,
    number,
    number!.slice(-4),
    '7',
    mobile,
    mobile!.slice(-4),
    first,
    name,
    id,
    'Clinic',
    'Nobody',
  ];
  const places = { business: 'business-1', clinic: 'clinic-0-1', doctor: 'doctor-0-1' };
  const pathTo = (path: string, fields = {}) => hrefTo(path, fields).replace('/console', '');
  return [
    ...['/today', '/hours', '/health', '/health?show=sessions', '/names', '/search', '/erasures'],
    ...lists.map((list) => `/${list.name}`),
    ...Object.entries(places).flatMap(([kind, place]) => [
      pathTo('/receipts', { [kind]: place }),
      ...lists.filter(({ groupBy }) => groupBy).map(({ name }) => pathTo(`/${name}`, { [kind]: place })),
    ]),
    ...[
      '/receipts?state=unpaid',
      '/callbacks?state=failed',
      '/callbacks?state=waiting',
      '/callbacks?range=last_30_days',
    ],
    ...[`/callbacks/${id}`, `/rejected/${body}`, pathTo('/records/receipt', { business, id: record })],
    ...[
      `/patients/${handle}`,
      `/patients/${handle}/erase`,
      `/access-log?patient=${handle}`,
      '/access-log?person=user-1',
    ],
    ...terms.map((q) => pathTo('/search', { q })),
  ];
}

const commandsOf = ({ id, patient, body }: Record<string, string>, folder: string) => [
  ...['show', `export --output ${folder}/patient.json`, 'hold', 'release', 'erase --dry-run'].map(
    (action) => `patient ${action} ${patient}`,
  ),
  ...['quarantine list', `quarantine show ${body}`],
  ...['quarantine replay --all --dry-run', 'replay', `replay ${id}`],
  ...['audit list', `audit list --patient ${patient}`],
  ...['retention --dry-run', 'destinations list', 'erasures list', 'aliases export', 'doctor'],
  ...[`patient erase --yes ${patient}`, `erasures export --output ${folder}/erasures.json`],
];
