import { clear } from '../../support/deliveries.ts';
import { useConsole } from '../use-console.ts';
import { visitAs } from '../visitor.ts';

const { database, service, visitor } = useConsole();
beforeEach(() => clear(database));

describe('saved pages', () => {
  beforeEach(() => database.pool.query('truncate saved_views'));
  const save = (address: string, name = 'mine') => visitor.post('/saved-views', { name, address });
  const saved = () => database.rows('select owner, name, address from saved_views');

  it('are links of their owner alone, until they are deleted', async () => {
    await save('/console/reports/receipts_daily?range=yesterday&clinic=64a1f0c2e4b0a1b2c3d4e5f8');
    const link =
      'href="/console/reports/receipts_daily?range=yesterday&amp;clinic=64a1f0c2e4b0a1b2c3d4e5f8">mine</a>';
    expect(await visitor.read('/reports')).toContain(link);
    const other = await visitAs(service.url, 'viewer');
    expect(await other.read('/reports')).not.toContain('mine');
    await other.post('/saved-views/delete', { name: 'mine' });
    expect(await saved()).toHaveLength(1);
    await visitor.post('/saved-views/delete', { name: 'mine' });
    expect(await saved()).toEqual([]);
  });

  it('keep no field that may name a patient, no page and no token', async () => {
    await save('/console/reports/receipts?business=b&patient=p&q=Rao&page=3&csrf=x&sort=-net_amount');
    await save('/console/deliveries?family=receipt&error=Mrs+Rao&id=x', 'list');
    expect((await saved()).map(({ address }) => address).sort()).toEqual([
      '/deliveries?family=receipt',
      '/reports/receipts?business=b&sort=-net_amount',
    ]);
  });

  it.each([
    ['another host', 'https://elsewhere.invalid/x'],
    ['another page', '/console/patients?patient=p'],
    ['a page of personal data', '/console/reports/receipts/personal'],
    ['an order that shows names', '/console/reports/receipts?sort=name'],
    ['no report', '/console/reports/receipts;drop'],
    ['no address', '//'],
  ])('cannot be of %s', async (_what, address) => {
    expect([400, 404]).toContain((await save(address)).status);
    expect(await saved()).toEqual([]);
  });

  it('are fifty at most, and one of the same name is replaced', async () => {
    await database.pool.query(
      `insert into saved_views (owner, name, address) select 'admin-token', n::text, '/reports/receipts' from generate_series(1, 50) as n`,
    );
    expect((await save('/console/reports/silence')).status).toBe(400);
    expect((await save('/console/reports/silence', '7')).status).toBe(303);
    expect(await database.rows(`select address from saved_views where name = '7'`)).toEqual([
      { address: '/reports/silence' },
    ]);
  });
});
