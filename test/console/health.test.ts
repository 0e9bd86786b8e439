import { startTcpProxy, type TcpProxy } from '../chaos/tcp-proxy.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { openRedis, type TestRedis } from '../support/redis.ts';
import { post, startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { routesOf } from './routes.ts';
import { adminToken, postForm, setDatabase, type Visitor, visitAs } from './visitor.ts';

let database: TestDatabase;
let redis: Pick<TestRedis, 'url' | 'stop'>;
let link: TcpProxy;
let start: () => ReturnType<typeof startTestService>;
let service: Awaited<ReturnType<typeof startTestService>>;
let viewer: Visitor;
let privacy: Visitor;

beforeAll(async () => {
  database = await createDatabase();
  redis = await openRedis();
  const address = new URL(database.url);
  link = await startTcpProxy(Number(address.port));
  address.port = String(link.port);
  start = () =>
    startTestService({ databaseUrl: address.href, redisUrl: redis.url, role: 'receiver', adminToken });
  service = await start();
  setDatabase(service.url, database);
  viewer = await visitAs(service.url, 'viewer');
  privacy = await visitAs(service.url, 'privacy');
  const data = { name: 'CANARY', mobile: '+919876500001', patient_oid: '161467756044203' };
  expect((await post(service.url + paths.receipt, receiptCallback({ data }))).status).toBe(200);
});
afterAll(async () => {
  await service.stop();
  await link.stop();
  await redis.stop();
  await database.close();
});

const personal = /CANARY|9876500001|161467756044203/;

it('the page Health shows the checks, to every role; a viewer’s first page is Today, an operator’s is Health', async () => {
  const text = await viewer.read('/health');
  expect(text).toMatch(/<td[^>]*>database<\/td>/);
  expect(text).not.toContain('class="broken"');
  const first = async (visitor: Visitor) => (await visitor.get('')).headers.get('location');
  expect(await first(viewer)).toBe('/console/today');
  for (const visitor of [await visitAs(service.url, 'operator'), privacy])
    expect(await first(visitor)).toBe('/console/health');
});

describe('while PostgreSQL is unavailable', () => {
  let leaving: Visitor;
  beforeAll(async () => {
    leaving = await visitAs(service.url, 'operator');
    await leaving.get('/health');
    link.cut();
    await until(async () => (await viewer.get('/deliveries/x')).status === 503);
  });
  afterAll(async () => link.restore());

  it('a known session opens Health, which names no patient and says what becomes of callbacks', async () => {
    const data = { name: 'CANARY', mobile: '+919876500001', receipt_id: 99 };
    await until(
      async () => (await post(service.url + paths.receipt, receiptCallback({ data }))).status === 200,
    );
    const response = await viewer.get('/health');
    const text = await response.text();
    expect(response.status).toBe(200);
    expect(text).toMatch(
      /PostgreSQL does not answer since \d+ \w+ \d{4}, .*Callbacks are safe in Redis until then: 1 since/s,
    );
    expect(text).toMatch(/<td[^>]*>database<\/td>.*failing/s);
    expect(text).not.toMatch(personal);
  });

  it('and nothing else: every other route says that the database is unavailable', async () => {
    const routes = routesOf().filter((route) => !/ \/(health|assets|sign-)|^GET \/$/.test(route));
    expect(routes.length).toBeGreaterThan(30);
    for (const route of routes) {
      const [method, pattern] = route.split(' ') as ['GET' | 'POST', string];
      const path = pattern.replace(':family', 'receipt').replace(':view', 'receipts').replace(/:\w+/, 'x');
      const response = method === 'GET' ? await privacy.get(path) : await privacy.post(path);
      const text = await response.text();
      expect([route, response.status]).toEqual([route, 503]);
      expect(text).toContain('Database unavailable');
      expect(text).toContain('href="/console/health"');
      expect(text).not.toMatch(personal);
    }
  });

  it('an unknown or forged session opens nothing', async () => {
    for (const cookie of ['', 'receiver_console=x.y', `${viewer.cookie}x`]) {
      const response = await fetch(`${service.url}/console/health`, { headers: { cookie } });
      expect(response.status).toBe(401);
    }
  });

  it('the admin token opens Health and begins no session, also at a receiver that was started meanwhile', async () => {
    const other = await start();
    try {
      for (const { url } of [service, other]) {
        const response = await postForm(`${url}/console/sign-in`, {
          token: adminToken,
          next: '/console/patients',
        });
        const text = await response.text();
        expect([response.status, response.headers.get('set-cookie')]).toEqual([200, null]);
        expect(text).toContain('<h1>Health</h1>');
        expect(text).toMatch(/Callbacks .*safe in Redis/);
        expect(text).not.toMatch(/<nav|CANARY/);
        const wrong = await postForm(`${url}/console/sign-in`, { token: 'guess' });
        expect([wrong.status, (await wrong.text()).includes('Health')]).toEqual([503, false]);
      }
      // It has not read the session before.
      const cookie = viewer.cookie;
      expect((await fetch(`${other.url}/console/health`, { headers: { cookie } })).status).toBe(401);
    } finally {
      await other.stop();
    }
  });

  it('signing out ends the session in this browser and here', async () => {
    const response = await leaving.post('/sign-out');
    expect([response.status, response.headers.get('set-cookie')]).toEqual([
      503,
      expect.stringContaining('receiver_console=;'),
    ]);
    expect(await response.text()).toContain('This browser is signed out');
    expect((await leaving.get('/health')).status).toBe(401);
  });
});
