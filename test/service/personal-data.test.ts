import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import {
  consentFormCallback,
  consentFormData,
  paths,
  receiptCallback,
  receiptData,
  reviewRequestCallback,
  reviewRequestData,
  samples,
} from '../support/callbacks.ts';
import { spawnService } from '../support/process.ts';
import { contentsOf, openRedis } from '../support/redis.ts';
import { post } from '../support/service.ts';
import { sign } from '../support/sign.ts';
import { until } from '../support/until.ts';

const key = 'CANARYsigningkey';

/** Replaces every text of a callback's data by a marker. */
function canary<T extends object>(data: T): T {
  const marked = Object.entries(data).map(([name, value]) => [
    name,
    typeof value === 'string' || value === null ? `CANARY-${name}` : value,
  ]);
  return { ...Object.fromEntries(marked), newField: 'CANARY-value', 'CANARY key': { CANARY: 'CANARY' } };
}

it('no content of a callback, no key and no token is in a log, a response, the queue or a job', async () => {
  const redis = await openRedis();
  const folder = mkdtempSync(join(tmpdir(), 'receiver-canary-'));
  const service = await spawnService({
    DATA_DIR: folder,
    REDIS_URL: redis.url,
    LOG_LEVEL: 'trace',
    SIGNING_KEYS: key,
    ADMIN_TOKEN: 'CANARY-admin-token',
  });
  const responses: string[] = [];
  const send = async (path: string, body: unknown, headers?: Record<string, string>) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const response = await post(
      service.url + path,
      text,
      headers ?? { 'X-Webhook-Signature': sign(key, text) },
    );
    responses.push(await response.text(), JSON.stringify([...response.headers]));
    return response.status;
  };
  const database = new pg.Client({
    connectionString: readFileSync(join(folder, 'connection-url'), 'utf8').trim(),
  });
  await database.connect();
  const count = async (what: string) => (await database.query(`select 1 from ${what}`)).rowCount;

  const receipt = receiptCallback({ data: canary(receiptData) });
  const form = consentFormCallback({ data: canary(consentFormData) });
  const review = reviewRequestCallback({ data: canary(reviewRequestData) });
  // Accepted, and failed in the worker because of the data.
  await database.query(`alter table receipts add constraint canary check (receipt_id <> 666)`);
  await database.query(`alter table consent_forms add constraint canary check (url is null)`);
  expect(await send(paths.receipt, receipt)).toBe(200);
  expect(
    await send(paths.receipt, receiptCallback({ data: { ...canary(receiptData), receipt_id: 666 } })),
  ).toBe(200);
  expect(await send(paths.consent_form, form)).toBe(200);
  expect(await send(paths.review_request, review)).toBe(200);
  await until(async () => (await count(`deliveries where status = 'failed'`))! >= 1);
  for (const [name, sampleOf] of Object.entries(samples)) {
    const path = paths[name as keyof typeof paths];
    const sample = sampleOf();
    expect(await send(path, { ...sample, data: { ...sample.data, newField: 'CANARY' } })).toBe(200);
    // Rejected for every reason.
    for (const [name, value] of Object.entries(sample.data)) {
      const wrong = typeof value === 'string' ? { CANARY: value } : 'CANARY';
      await send(path, { ...sample, data: { ...sample.data, [name]: wrong } });
      await send(path, { ...sample, data: { ...sample.data, [name]: 'CANARY\0' } });
    }
    for (const name of Object.keys(sample)) await send(path, { ...sample, [name]: { CANARY: 'CANARY' } });
    await send(path, { ...sample, event: 'CANARY' });
  }
  expect(await send(paths.receipt, '{"CANARY": CANARY')).toBe(400);
  expect(await send(paths.receipt, form)).toBe(422);
  expect(await send(paths.receipt, receipt, { 'X-Webhook-Signature': 'CANARY' })).toBe(401);
  expect(await send(paths.receipt, receipt, {})).toBe(401);
  expect(await send('/CANARY?CANARY=CANARY', receipt)).toBe(404);
  // Without the table: the fallback store contains the delivery until it is drained.
  await database.query('alter table inbox rename to inbox_elsewhere');
  expect(
    await send(paths.receipt, receiptCallback({ data: { ...canary(receiptData), receipt_id: 7 } })),
  ).toBe(200);
  await database.query('alter table inbox_elsewhere rename to inbox');
  await until(async () => (await count(`deliveries where envelope->'data'->>'receipt_id' = '7'`)) === 1);
  await until(async () => !(await contentsOf(redis.client())).includes('CANARY'));

  const inRedis = await contentsOf(redis.client());
  const failed = (await database.query('select error from deliveries where error is not null')).rows;
  await database.end();
  expect(await service.end('SIGTERM')).toBe(0);
  const written = [service.output(), readFileSync(join(folder, 'postgresql.log'), 'utf8')];
  expect(service.output()).toContain('a delivery failed');
  for (const text of [...written, ...responses, inRedis, JSON.stringify(failed)])
    expect(text).not.toMatch(/CANARY/);
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
});
