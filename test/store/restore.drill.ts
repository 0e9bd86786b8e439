import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { changes } from '../changes/serve.ts';
import { paths, receiptCallback, receiptData } from '../support/callbacks.ts';
import { type DebianServer, startDebianPostgres } from '../support/debian-postgres.ts';
import { allKnown, erase, fill, readEverything, rowsOf, send, sendAgain } from '../support/everything.ts';
import { spawnReceiver } from '../support/process.ts';
import { readChanges } from '../support/read-changes.ts';
import { readCatalogue } from '../support/schema.ts';
import { startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'receiver-restore-'));
const dump = join(folder, 'receiver.dump');
let server: DebianServer;
let original: string;
let everything: Record<string, unknown[]>;
let catalogue: string[];
/** The end of the feed of changes. */
let cursor: string;

/** The catalogue, without the rights that an owner has in any case: a dump leaves them out. */
const catalogueOf = async (url: string) =>
  (await readCatalogue({ rows: (query: string) => rowsOf(url, query) } as never)).map((line) =>
    line.replace(/ \| (owner_\w)=\w+\/\1$/, ''),
  );

beforeAll(async () => {
  server = await startDebianPostgres();
  original = await server.createDatabase('owner_a', 'original');
  await server.run('alter role owner_a createrole');
  const service = await startTestService({ databaseUrl: original, changes });
  await fill(service, original);
  cursor = (await readChanges(service)).next;
  await service.stop();
  server.program('pg_dump', '--format=custom', `--file=${dump}`, original);
  everything = await readEverything(original);
  catalogue = await catalogueOf(original);
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

/** Starts the receiver on a restored copy: everything is there, what was sent before is known, and the feed begins anew. */
async function expectComplete(url: string): Promise<void> {
  expect(await readEverything(url)).toEqual(everything);
  const service = await startTestService({ databaseUrl: url, changes });
  expect(await readChanges(service, cursor)).toMatchObject({ status: 410 });
  expect(await sendAgain(service)).toEqual(allKnown);
  expect(await send(service.url + paths.receipt, receiptCallback({ data: { receipt_id: 77 } }))).toBe(
    'accepted',
  );
  await until(async () => (await rowsOf(url, 'select from receipts where receipt_id = 77')).length === 1);
  await service.stop();
}

it('a dump that another owner restores on a new server is complete: rows, views, functions, triggers, roles, grants', async () => {
  const other = await startDebianPostgres();
  try {
    const url = await other.createDatabase('owner_b', 'restored');
    await other.run('alter role owner_b createrole');
    other.program('pg_restore', '--exit-on-error', '--no-owner', '--no-privileges', `--dbname=${url}`, dump);
    await expectComplete(url);
    const own = catalogue.map((line) => line.replaceAll('owner_a', 'owner_b'));
    expect(await catalogueOf(url)).toEqual(own);
    expect(
      await rowsOf(url, `select rolname from pg_roles where rolname ~ '^reporting_' order by 1`),
    ).toEqual([{ rolname: 'reporting_masked' }, { rolname: 'reporting_reader' }]);
  } finally {
    await other.stop();
  }
});

it('a dump in SQL restores as the same owner, with the grants and revocations that somebody made', async () => {
  await server.run('create role analyst');
  await rowsOf(original, 'grant select on reporting.receipts to analyst');
  await rowsOf(original, 'revoke select on reporting.quarantine from reporting_reader');
  const file = join(folder, 'receiver.sql');
  server.program('pg_dump', `--file=${file}`, original);
  const url = await server.createDatabase('owner_a', 'same');
  server.program('psql', '-q', '-v', 'ON_ERROR_STOP=1', '-f', file, url);
  await expectComplete(url);
  expect(await catalogueOf(url)).toEqual(await catalogueOf(original));
});

it('who was erased after the backup is erased again in the restored copy by the list of erasures', async () => {
  const list = join(folder, 'erasures.json');
  const url = await server.createDatabase('owner_a', 'forgetful');
  server.program('pg_restore', '--exit-on-error', '--no-owner', '--no-privileges', `--dbname=${url}`, dump);
  const run = async (databaseUrl: string, ...args: string[]) => {
    const command = spawnReceiver(args, { DATABASE_URL: databaseUrl });
    expect([await command.end(), command.output()]).toEqual([0, expect.anything()]);
  };
  await erase(original, receiptData.patient_oid);
  await run(original, 'erasures', 'export', '--output', list);
  const named = `select from inbox where patient_of(envelope) = '${receiptData.patient_oid}'`;
  expect(await rowsOf(url, named)).not.toEqual([]);
  await run(url, 'migrate');
  await run(url, 'erasures', 'apply', list);
  expect(await rowsOf(url, named)).toEqual([]);
  const service = await startTestService({ databaseUrl: url });
  expect(new Set(await sendAgain(service))).toContain('erased');
  await service.stop();
});
