import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { applyDeliveries } from '../../src/apply/apply.ts';
import { families } from '../../src/families/index.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { apply, insertCallbacks } from '../support/deliveries.ts';
import { post } from '../support/service.ts';
import { useConsole } from './use-console.ts';
import { signInTo, visitAs } from './visitor.ts';

const plain = (text: string) =>
  text
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');

describe('before the first callback', () => {
  const key = 'a-signing-key-of-tests';
  const { database, service, visitor, startAnother } = useConsole({
    prepare: async () => ({ role: 'all' }),
  });

  it('Health shows the addresses to whoever may use them', async () => {
    const page = await visitor.read('/health');
    for (const path of [paths.receipt, paths.consent_form, paths.review_request]) {
      expect(page).toContain(service.url + path);
    }
    const viewer = await (await visitAs(service.url, 'viewer')).read('/health');
    expect(viewer).toContain('No callback was received yet');
    expect(viewer).not.toContain(paths.receipt);
  });

  it('an open door is amber, in words', async () => {
    const page = await visitor.read('/health');
    expect(page).toContain('Anybody can send callbacks');
    expect(page).toContain('<span class="warn">open</span>');
    const other = await startAnother({ adminToken: 'another-token-of-tests', ...signed() });
    const closed = await (await signInTo(other.url, 'another-token-of-tests')).read('/health');
    expect(closed).not.toMatch(/Anybody can send|class="warn"/);
  });

  const authentication = {
    signingKeys: [] as string[],
    signatureHeader: 'X-Webhook-Signature',
    signatureToleranceS: 180,
    allowedIps: [] as string[],
    trustProxy: 0,
    allowedClientIds: [] as string[],
    allowedBusinessIds: [] as string[],
    allowUnauthenticated: false,
  };
  const signed = () => ({
    authentication: {
      ...authentication,
      signingKeys: [key],
      allowedClientIds: ['client-1'],
      allowedBusinessIds: ['business-1'],
    },
  });

  it('the test callback of the page takes the real path, is signed, and stays out of the receipts', async () => {
    const other = await startAnother({ adminToken: 'another-token-of-tests', ...signed() });
    const page = await (await signInTo(other.url, 'another-token-of-tests')).read('/health');
    const script = plain(/A test callback from a shell".*?<pre>(.*?)<\/pre>/s.exec(page)![1]!);
    const env = { ...process.env, SIGNING_KEY: key };
    const { stdout } = await promisify(execFile)('bash', ['-c', `${script} -s`], { env });
    expect(JSON.parse(stdout)).toMatchObject({ status: 'accepted' });
    expect(await database.rows('select event, business_id, client_id, family from deliveries')).toEqual([
      { event: 'receiver.test', business_id: 'business-1', client_id: 'client-1', family: 'other' },
    ]);
    const wrong = await promisify(execFile)('bash', ['-c', `${script} -s`], {
      env: { ...env, SIGNING_KEY: 'x' },
    });
    expect(JSON.parse(wrong.stdout)).toMatchObject({ status: 401 });
    expect(await visitor.read('/health')).toContain('No callback was received yet');
  });

  it('the first real callback ends it', async () => {
    await post(service.url + paths.receipt, receiptCallback());
    const page = await visitor.read('/health');
    expect(page).not.toContain('No callback was received yet');
    expect(page).toContain('Callbacks per hour');
  });
});

describe('figures', () => {
  const { database, service, visitor } = useConsole();

  it('versions, and drift: what is new before what is missing', async () => {
    await post(service.url + paths.receipt, receiptCallback());
    await database.rows(`
      insert into schema_drift (event, field, kind, count, first_seen, last_seen, example_delivery)
      select 'receipt.created', field, kind, 3, now(), now() - ago * interval '1 hour', gen_random_uuid()
      from (values ('/data/gone', 'missing', 0), ('/data/added', 'unknown', 1), ('/event', 'unknown', 2)) as t(field, kind, ago)`);
    const page = await visitor.read('/health');
    expect(page).toMatch(/unknown field.*\/data\/added.*new event.*\/event.*missing field.*\/data\/gone/s);
    const report = await visitor.read('/reports/schema_drift');
    expect(report).toMatch(/\/data\/added.*\/event.*\/data\/gone/s);
    const facts = plain(/<h2>Versions.*?<\/dl>/s.exec(page)![0]);
    expect(facts).toMatch(/^VersionsReceiver\d+\.\d+\.\d+.*PostgreSQL\d+.*Schema\d{4}_/);
  });
});

describe('from arrival to row', () => {
  const { database, visitor } = useConsole();

  it('are the median and the 95th percentile of the last hour, without replays', async () => {
    const receipts = [1, 2, 3].map((receipt_id) => receiptCallback({ data: { receipt_id } }));
    await apply(database, receipts);
    await database.pool.query(
      `update applied_deliveries set received_at = now() - interval '1 minute', applied_at = now() - interval '58 seconds'`,
    );
    await database.pool.query(`alter table receipts add constraint plain check (receipt_id <> 4)`);
    const ids = await insertCallbacks(database, [receiptCallback({ data: { receipt_id: 4 } })]);
    await applyDeliveries(database.db, families, ids);
    await database.pool.query(
      `alter table receipts drop constraint plain;
       update failed_deliveries set received_at = now() - interval '50 minutes';
       update inbox set received_at = now() - interval '50 minutes' where id = '${ids[0]}'`,
    );
    await applyDeliveries(database.db, families, ids, { status: 'failed' });
    expect(await database.rows('select from applied_deliveries where replayed')).toHaveLength(1);
    expect(await visitor.read('/health')).toContain('p50 2 s, p95 2 s');
  });
});
