import { createLog } from '../../src/common/log.ts';
import { families } from '../../src/families/index.ts';
import { erasePatient } from '../../src/privacy/erasure/erase.ts';
import { openDatabase } from '../../src/store/database.ts';
import { withClient } from '../../src/store/pool.ts';
import { type Callback, paths, receiptCallback, samples } from './callbacks.ts';
import { post, untilServed } from './service.ts';
import { until } from './until.ts';

/** A callback of every family, and newer and older versions. */
const callbacks: [path: string, callback: Callback][] = [
  ...families.map(({ name }): [string, Callback] => [paths[name], samples[name]()]),
  [
    paths.receipt,
    receiptCallback({ event: 'receipt.updated', event_time: 1_700_000_009, data: { net_amount: 1.5 } }),
  ],
  [
    paths.receipt,
    receiptCallback({ event: 'receipt.deleted', event_time: 1_700_000_010, data: { receipt_id: 2 } }),
  ],
  [
    paths.appointment,
    samples.appointment({
      event: 'appointment.updated',
      event_time: 1_700_000_009,
      data: { unknown: ['a\\b\n', null] },
    }),
  ],
  [paths.receipt, receiptCallback({ data: { receipt_id: 9, patient_oid: 'erased-1' } })],
];

/** Gives a service data of every family, rejected callbacks, an erased patient and entries of the access log. */
export async function fill(service: { url: string }, databaseUrl: string): Promise<void> {
  for (const [path, callback] of callbacks) await send(service.url + path, callback);
  await send(service.url + paths.receipt, receiptCallback());
  await post(service.url + paths.receipt, '{"event": "receipt.created"}');
  await post(service.url + paths.receipt, Buffer.from([0xff, 0x00, 0x5c]));
  await until(async () => (await rowsOf(databaseUrl, 'select from pending_deliveries limit 1')).length === 0);
  await rowsOf(
    databaseUrl,
    `insert into seen_deliveries (id, seen_by) select id, 'tester' from inbox limit 1`,
  );
  await erase(databaseUrl, 'erased-1');
  // Written later, together.
  await until(async () => (await rowsOf(databaseUrl, 'select from schema_drift limit 1')).length > 0);
}

export async function erase(databaseUrl: string, id: string): Promise<void> {
  const { db, close } = openDatabase(databaseUrl, createLog('silent'), { connections: 1, name: 'test' });
  await erasePatient(db, families, { id }, { actor: { id: 'tester' }, keepMs: 86_400_000 });
  await close();
}

/** Sends a callback until it is taken, as the platform would; returns `accepted`, `duplicate` or `erased`. */
export async function send(url: string, callback: object): Promise<string> {
  const response = await untilServed(() => post(url, callback));
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}`);
  return ((await response.json()) as { status: string }).status;
}

/** The statuses of the same callbacks, sent once more. */
export async function sendAgain(service: { url: string }): Promise<string[]> {
  const statuses: string[] = [];
  for (const [path, callback] of callbacks) statuses.push(await send(service.url + path, callback));
  return statuses;
}

/** What it answers where nothing was lost. */
export const allKnown = callbacks.map(({ 1: { data } }) =>
  data.patient_oid === 'erased-1' ? 'erased' : 'duplicate',
);

/** Every row of every table and report, without those about the present and about the queue. */
export async function readEverything(databaseUrl: string): Promise<Record<string, unknown[]>> {
  const relations = await rowsOf(
    databaseUrl,
    `select oid::regclass::text as name from pg_class
     where relkind in ('r', 'v') and relnamespace::regnamespace::text in ('public', 'reporting', 'withheld')
       and relname not in ('receiver_migrations', 'leases', 'lease_tokens', 'silence')`,
  );
  const contents: Record<string, unknown[]> = {};
  for (const { name } of relations) {
    const rows = await rowsOf(databaseUrl, `select to_jsonb(r)::text as row from ${name} r order by 1`);
    contents[name as string] = rows.map(({ row }) => row);
  }
  return contents;
}

export const rowsOf = (url: string, query: string): Promise<Record<string, unknown>[]> =>
  withClient(url, async (client) => {
    await client.query(`set timezone = 'UTC'`);
    return (await client.query(query)).rows;
  });
