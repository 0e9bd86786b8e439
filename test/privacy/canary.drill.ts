import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { type Family, families, patientFields } from '../../src/families/index.ts';
import { reports } from '../../src/reports/reports.ts';
import { pagesOf } from '../console/pages.ts';
import { signInTo } from '../console/visitor.ts';
import { paths, receiptCallback, receiptData, samples } from '../support/callbacks.ts';
import { moreEvents, waysToName } from '../support/named-patients.ts';
import { spawnReceiver, spawnService } from '../support/process.ts';
import { contentsOf, startRedis, type TestRedis } from '../support/redis.ts';
import { post } from '../support/service.ts';
import { until } from '../support/until.ts';

const patient = 'CANARY-patient';
const adminToken = 'an-admin-token-of-tests';

/** Replaces every text of a callback's data by a marker, except times, and adds undocumented fields. */
function canary<T extends object>(data: T, id?: string): T {
  const marked = mark(data, '') as T;
  return { ...marked, ...(id && { [id]: patient }), newField: 'CANARY-value', 'CANARY key': ['CANARY'] };
}

function mark(value: unknown, name: string): unknown {
  // A code, whose new values are counted.
  if (name === 'receipt_status') return 'CANARY_receipt_status';
  if (value === null || (typeof value === 'string' && !/^\d{4}-\d\d-\d\d/.test(value)))
    return `CANARY-${name}`;
  if (Array.isArray(value)) return value.map((one) => mark(one, name));
  if (typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, mark(one, key)]));
}

const pathOf = ({ event }: { event: string }) => {
  const family = (families as readonly Family[]).find(({ events }) => events.includes(event));
  return paths[(family?.name ?? 'other') as keyof typeof paths];
};

/** Where each family but receipts that names a patient does so. */
const patientIn = Object.fromEntries(
  (families as readonly Family[]).flatMap(({ name, fields }) => {
    const field = name === 'other' ? 'patient_id' : patientFields.find((one) => one in fields);
    return field && name !== 'receipt' ? [[name, field]] : [];
  }),
);

const receipt = receiptCallback({ data: canary(receiptData, 'patient_oid') });
const callbacks = [
  receipt,
  {
    ...receipt,
    event: 'receipt.updated',
    event_time: 1_700_000_009,
    data: { ...receipt.data, net_amount: 1 },
  },
  // Names nobody.
  {
    ...receipt,
    event: 'receipt.deleted',
    event_time: 1_700_000_010,
    data: { receipt_id: 4711, name: 'CANARY-nameless' },
  },
  { ...receipt, data: { ...receipt.data, receipt_id: 666 } },
  ...Object.entries(patientIn).map(([name, field]) => {
    const sample = samples[name as keyof typeof samples]();
    return { ...sample, data: canary(sample.data, field) };
  }),
  // Parts of the admission, which alone names the patient.
  ...(['admission_event', 'admission_clearance', 'admission_estimate'] as const).map((name) => {
    const sample = samples[name]();
    return { ...sample, transaction_id: `ipd/b/admissions/CANARY-id/${name}`, data: canary(sample.data) };
  }),
];
/** The events of these whose undocumented fields are counted. */
const withDrift = new Set(
  callbacks
    .filter(({ event, data }) => pathOf({ event }) !== paths.other && 'newField' in data)
    .map(({ event }) => event),
);
const named = [...Object.entries(waysToName)].map(([way, name]) => {
  const { beside, data } = name(patient);
  return {
    ...samples.other({ event: 'abha.consent_update' }),
    ...beside,
    data: { way, ...data, note: 'CANARY-named' },
  } as (typeof callbacks)[number];
});
/** Every other event, marked, and named by one of its ids or, where it has none, in a text. */
const keys = ['oid', 'abha_number', 'patient'];
const more = Object.entries(moreEvents).map(([event, data]) => {
  const key = keys.find((one) => one in data);
  const id = key === 'patient' ? { patient: { id: patient } } : key && { [key]: patient };
  return {
    ...samples.other({ event }),
    data: { ...(mark(data, '') as object), ...(id || { words: `about ${patient}` }) },
    isByText: !id,
  };
});
const certainly = [...callbacks, ...named, ...more.filter(({ isByText }) => !isByText)] as typeof callbacks;
const byText = more.filter(({ isByText }) => isByText) as unknown as typeof callbacks;
const rejected = [
  JSON.stringify({ ...receipt, event: 'CANARY' }),
  JSON.stringify(receipt).slice(0, -5),
  JSON.stringify({ ...receipt, data: { ...receipt.data, net_amount: 'CANARY' } }),
];

let folder: string;
let redis: TestRedis;
let service: Awaited<ReturnType<typeof spawnService>>;
let database: pg.Client;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'receiver-canary-'));
  redis = await startRedis();
  service = await spawnService({ ...environment(), LOG_LEVEL: 'trace' });
  const connectionString = readFileSync(join(folder, 'connection-url'), 'utf8').trim();
  database = new pg.Client({ connectionString });
  await database.connect();
  // PostgreSQL keeps the samples of a table that has become empty: whether it takes some before is chance.
  await rows('alter system set autovacuum = off');
  await rows('select pg_reload_conf()');
});
afterAll(async () => {
  await database.end();
  await service.end('SIGTERM');
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
});

const environment = () => ({ DATA_DIR: folder, REDIS_URL: redis.url, ADMIN_TOKEN: adminToken });
const rows = async (query: string) => (await database.query(query)).rows;
const send = async (callback: { event: string }) => {
  const response = await post(service.url + pathOf(callback), callback);
  return ((await response.json()) as { status: string }).status;
};
const command = async (...args: string[]) => {
  const run = spawnReceiver(args, environment());
  expect([await run.end(), run.output()]).toEqual([0, expect.anything()]);
  return run.output();
};

/** The names of the relations, by kind, that contain the marker. */
async function relationsWith(marker: string, schemas: string, kinds: string): Promise<string[]> {
  const relations = await rows(`
    select format('%I.%I', nspname, relname) as name
    from pg_class c join pg_namespace n on n.oid = relnamespace
    where relkind in (${kinds}) and nspname ${schemas} order by 1`);
  const found = [];
  for (const { name } of relations) {
    const hits = await rows(`select from ${name} t where strpos(t::text, '${marker}') > 0 limit 1`);
    if (hits.length > 0) found.push(name as string);
  }
  return found;
}

/** Every page, with personal data, and every download. */
async function everythingShown(): Promise<string> {
  const visitor = await signInTo(service.url);
  const nobody = '00000000-0000-4000-8000-000000000000';
  const pages = pagesOf({ delivery: nobody, body: nobody, receipt: { business: 'b', id: '7' } }, []);
  const texts = await Promise.all(pages.map((page) => visitor.read(page)));
  const range = { from: '2000-01-01', to: '2100-01-01' };
  for (const { view } of reports) {
    for (const action of ['personal', 'csv']) {
      texts.push(await (await visitor.post(`/reports/${view}/${action}`, range)).text());
    }
  }
  for (const { id } of await rows('select id from inbox')) {
    texts.push(await (await visitor.post(`/deliveries/${id}/personal`)).text());
  }
  for (const { id } of await rows('select id from quarantine')) {
    texts.push(await (await visitor.post(`/quarantine/${id}/personal`)).text());
  }
  const headers = { Authorization: `Bearer ${adminToken}` };
  for (const path of ['/metrics', '/readyz'])
    texts.push(await (await fetch(service.url + path, { headers })).text());
  return texts.join('\n');
}

/** The files of the database that contain the marker. */
function filesWith(marker: string, place = folder): string[] {
  const files = readdirSync(place, { recursive: true, encoding: 'utf8' }).filter((file) =>
    statSync(join(place, file), { throwIfNoEntry: false })?.isFile(),
  );
  return files.filter((file) => {
    try {
      return readFileSync(join(place, file)).includes(marker);
    } catch (error) {
      // A server has removed it meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      return false;
    }
  });
}

/** Fills the segments of the write-ahead log that will be used again. */
async function overwriteLog(): Promise<void> {
  const [{ segments }] = await rows('select count(*)::int as segments from pg_ls_waldir()');
  for (let segment = 0; segment < segments + 2; segment += 1) {
    await rows(`select pg_logical_emit_message(false, '', ''), pg_switch_wal()`);
  }
  await rows('checkpoint');
}

it('an erased patient is in no table but those of withheld, in no view, page, download, metric, log or key of Redis; once it is due, in no file', async () => {
  await rows('alter table receipts add constraint canary check (receipt_id <> 666)');
  for (const callback of [...certainly, ...byText]) expect(await send(callback)).toBe('accepted');
  for (const body of rejected)
    expect((await post(service.url + paths.receipt, body)).status).toBeGreaterThan(399);
  await until(async () => (await rows('select from pending_deliveries')).length === 0);
  expect(await rows('select from failed_deliveries')).toHaveLength(1);
  // Undocumented fields and new values are counted after a while.
  await until(async () => {
    const [{ events }] = await rows(`
      select count(distinct event)::int as events from schema_drift where field = '/data/newField'`);
    return (
      events === withDrift.size &&
      (await rows(`select from schema_drift where value like 'CANARY%'`)).length > 0
    );
  });
  const shown = await everythingShown();
  expect(shown).toContain('CANARY-name');
  expect(shown).not.toMatch(/CANARY-content|CANARY-token|CANARY-nonce/);
  expect(await relationsWith('CANARY-content', `= 'public'`, `'r'`)).toContain('public.inbox');
  for (const secret of ['CANARY-token', 'CANARY-nonce'])
    expect(await relationsWith(secret, 'is not null', `'r'`)).toEqual([]);
  const naming = families
    .filter(({ name }) => name !== 'practice_change')
    .map(({ table }) => `public.${table}`);
  expect(await relationsWith('CANARY', `= 'public'`, `'r'`)).toEqual(expect.arrayContaining(naming));
  await rows('checkpoint');
  expect(filesWith('CANARY-name')).not.toEqual([]);

  const preview = await command('patient', 'erase', patient, '--dry-run');
  const left = preview.split('Other bodies')[1]!.match(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g)!;
  await command('patient', 'erase', patient, '--yes', ...left.flatMap((id) => ['--also', id]));
  expect(await rows('select patient_id from patient_pseudonyms')).toEqual([]);

  const expectNoTrace = async () => {
    expect(
      await relationsWith(
        'CANARY',
        `not in ('withheld', 'pg_catalog', 'information_schema', 'pg_toast')`,
        `'r', 'v'`,
      ),
    ).toEqual([]);
    expect(await everythingShown()).not.toContain('CANARY');
    expect(await contentsOf(redis.client())).not.toContain('CANARY');
  };
  await expectNoTrace();
  expect(await relationsWith('CANARY', `= 'withheld'`, `'r'`)).toEqual(['withheld.records']);

  // Sent again, replayed, and from the fallback store.
  for (const callback of certainly) expect(await send(callback)).toBe('erased');
  for (const body of rejected) await post(service.url + paths.receipt, body);
  await command('replay', '--status', 'applied');
  await command('quarantine', 'replay');
  await rows('alter table inbox rename to elsewhere');
  await until(async () => (await send(callbacks[0]!)) === 'accepted');
  for (const callback of certainly) expect(await send(callback)).toBe('accepted');
  await rows('alter table elsewhere rename to inbox');
  await until(async () => !(await contentsOf(redis.client())).includes('CANARY'));
  // Its append-only file is written anew.
  await until(async () => filesWith('CANARY', redis.folder).length === 0);
  await expectNoTrace();
  expect(await rows('select from deliveries')).toEqual([]);

  // As if the time had passed.
  await rows(`update withheld.records set destroy_at = destroy_at - interval '366 days'`);
  await command('retention');
  expect(await rows('select destroyed_at is not null as destroyed from erasures')).toEqual([
    { destroyed: true },
  ]);
  await rows('vacuum (full, analyze)');
  expect(await relationsWith('CANARY', 'is not null', `'r'`)).toEqual([]);
  // A checkpoint may put old segments at the end once more.
  await until(async () => {
    await overwriteLog();
    return filesWith('CANARY').every((file) => !file.includes('pg_wal'));
  });
  expect(filesWith('CANARY')).toEqual([]);
  expect(service.output()).not.toContain('CANARY');
});
