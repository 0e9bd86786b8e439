import { loadavg } from 'node:os';
import { startScript } from '../contenders/contender.ts';
import { withFilledDatabase } from '../filled.ts';
import { type FilledOptions, filledCommand } from '../options.ts';
import { startProgram } from '../process/program.ts';
import { describeSetting } from '../report/setting.ts';
import { writeReport } from '../report/write.ts';
import { deliveriesPerReceipt } from '../reports/fill.ts';
import { crawl, type TimedPage } from './crawl.ts';

const options = filledCommand(
  'bench:console',
  'Fills a database and times the first byte of every kind of page of the console',
  { deliveries: 5_000_000, runs: 5 },
)
  .parse()
  .opts<FilledOptions & { deliveries: number; runs: number }>();

const adminToken = 'an-admin-token-of-the-bench';
const print = (text: string) => process.stdout.write(`${text}\n`);
const volume = { receipts: Math.round(options.deliveries / deliveriesPerReceipt), days: 730 };
await withFilledDatabase(options, volume, async ({ server, database, version }) => {
  const { rows } = await database.pool.query<Record<string, string>>(`
    select (select count(*) from applied_deliveries)::text as deliveries,
      receipt_id::text as receipt, business_id as business, mobile, patient_oid as patient, aid, delivery_id::text as id
    from receipts where receipt_id = (select max(receipt_id) / 2 from receipts)`);
  const { deliveries, ...one } = rows[0]!;
  const receiver = await startProgram(['sh', startScript], {
    ROLE: 'receiver',
    PORT: '0',
    DATABASE_URL: server.url,
    ADMIN_TOKEN: adminToken,
    SIGNING_KEYS: 'bench-signing-key',
  });
  try {
    const signIn = await fetch(`${receiver.url}/console/sign-in`, {
      method: 'POST',
      body: new URLSearchParams({ token: adminToken }),
      redirect: 'manual',
    });
    const cookie = signIn.headers.get('set-cookie')!.split(';')[0]!;
    const searches = [one.receipt, one.mobile, one.patient, one.aid, one.id, 'Asha Sample 7'];
    const begin = [
      '/console',
      ...searches.map((text) => `/console/search?${new URLSearchParams({ q: text! })}`),
      `/console/records/receipt?${new URLSearchParams({ business: one.business!, id: one.receipt! })}`,
    ];
    const timed = await crawl(receiver.url, cookie, begin, options.runs, ({ ms, wholeMs, path, status }) =>
      print(`${ms.toFixed(0).padStart(6)} ms  ${wholeMs.toFixed(0).padStart(6)} ms  ${status}  ${path}`),
    );
    const line = ({ kind, status, ms, wholeMs, isPartial }: TimedPage) => [
      kind,
      String(status),
      ms.toFixed(0),
      `${wholeMs.toFixed(0)}${isPartial ? ', without what timed out' : ''}`,
    ];
    const slowestBy = (time: (page: TimedPage) => number) => [
      ['page', 'status', 'first byte, ms', 'whole page, ms'],
      ...timed
        .toSorted((one, other) => time(other) - time(one))
        .slice(0, 15)
        .map(line),
    ];
    const file = writeReport(options.results, {
      name: 'console',
      setting: {
        ...describeSetting({ postgres: version }),
        deliveries: deliveries!,
        pages: String(timed.length),
        'load average after': loadavg()[0]!.toFixed(1),
      },
      tables: [slowestBy(({ ms }) => ms), slowestBy(({ wholeMs }) => wholeMs)],
    });
    print(`Written to ${file}`);
  } finally {
    await receiver.stop();
  }
});
