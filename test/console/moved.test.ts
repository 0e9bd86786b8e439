import { useConsole } from './use-console.ts';

const { service, visitor } = useConsole();

it.each([
  ['/things/receipt?business=b&id=7', '/records/receipt?business=b&id=7'],
  ['/queue', '/health'],
  ['/failed', '/problems'],
  ['/queue/waiting', '/health'],
  ['/reports/receipts/spreadsheet?range=all', '/reports/receipts/xlsx?range=all'],
  ['/deliveries?from=2026-01-01T00:00&until=2026-01-02T00:00&receivedFrom=2026-01-03T00:00', undefined],
  ['/rejections?from=2026-01-01T00%3A00', '/rejections?since=2026-01-01T00%3A00'],
])('a bookmark of an earlier version leads to the same page: %s', async (address, expected) => {
  const response = await visitor.get(address);
  const times = { since: '2026-01-01T00:00', until: '2026-01-02T00:00', receivedSince: '2026-01-03T00:00' };
  const target = expected ?? `/deliveries?${new URLSearchParams(times)}`;
  expect([response.status, response.headers.get('location')]).toEqual([308, `/console${target}`]);
  expect((await visitor.get(target)).status).not.toBe(308);
});

it('a form of an earlier version is posted to its new address, with what it holds', async () => {
  const { status, headers } = await visitor.post('/things/receipt/personal', { business: 'b', id: '7' });
  expect([status, headers.get('location')]).toEqual([308, '/console/records/receipt/personal']);
});

it('without a session there is only the sign-in form, at an old address too', async () => {
  const response = await fetch(`${service.url}/console/queue`, { redirect: 'manual' });
  expect(response.status).toBe(401);
});

it.each(['/saved-views', '/saved-views/delete'])('what is gone is not found: POST %s', async (path) => {
  expect((await visitor.post(path, { name: 'x' })).status).toBe(404);
});
