import { startTcpProxy, type TcpProxy } from '../chaos/tcp-proxy.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { adminToken, signInTo, type Visitor } from './visitor.ts';

let database: TestDatabase;
let link: TcpProxy;
let service: Awaited<ReturnType<typeof startTestService>>;
let visitor: Visitor;

beforeAll(async () => {
  database = await createDatabase();
  const address = new URL(database.url);
  link = await startTcpProxy(Number(address.port));
  address.port = String(link.port);
  service = await startTestService({
    databaseUrl: address.href,
    role: 'receiver',
    adminToken,
    pageTimeoutMs: 2_000,
    timeLimits: { databaseMs: 2_000, redisMs: 2_000, readinessMs: 2_000 },
    downloads: { stalledMs: 300, totalMs: 600 },
  });
  visitor = await signInTo(service.url);
});
afterAll(async () => {
  await service.stop();
  await link.stop();
  await database.close();
});

const pages = ['/deliveries', '/problems', '/quarantine', '/search?q=11', '/reports/receipts/csv'];
const statuses = () => Promise.all(pages.map(async (page) => (await visitor.get(page)).status));
const untilFine = () => until(async () => (await statuses()).every((status) => status === 200));

it('while PostgreSQL is silent a page says so, and afterwards uses connections that work', async () => {
  await untilFine();
  link.stall(true);
  const responses = await Promise.all(pages.map((page) => visitor.get(page)));
  expect(responses.map(({ status }) => status)).toEqual(pages.map(() => 503));
  link.stall(false);
  await untilFine();
});

it('while PostgreSQL refuses connections a page says that it is unavailable', async () => {
  link.cut();
  const responses = await Promise.all(pages.map((page) => visitor.get(page)));
  expect(responses.map(({ status }) => status)).toEqual(pages.map(() => 503));
  expect(await responses[0]!.text()).toContain('PostgreSQL is unavailable.');
  await link.restore();
  await untilFine();
});
