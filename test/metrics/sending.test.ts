import { cursorOfNow } from '../../src/changes/cursor-of-now.ts';
import { addDestination } from '../../src/destinations/destination-table.ts';
import { secretText } from '../../src/destinations/sign.ts';
import { receiptCallback } from '../support/callbacks.ts';
import { apply } from '../support/deliveries.ts';
import { testConfig, useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';
import { adminToken, scrape } from './scraping.ts';

const token = 'k3v9x7q2m5n8b1c4';
const { database, start } = useService();

it('a scrape has the position of the feed, its streams and who was refused, and what webhooks wait for', async () => {
  const webhooks = await startWebhookReceiver();
  const selection = { url: webhooks.url, families: ['receipt'], businessId: null, isPublic: false };
  const cursor = await cursorOfNow(database.db);
  const { secrets } = await addDestination(database.db, { ...selection, maxInFlight: 1 }, cursor);
  webhooks.secret = secretText(secrets[0]!);
  webhooks.answer = (_webhook, res) => res.writeHead(500).end();
  const { times } = testConfig({}).destinations;
  const { url } = await start({
    adminToken,
    metrics: { port: undefined, cacheMs: 0 },
    changes: {
      ...{ tokens: [{ token, isPublic: false }], allowedIps: [] },
      ...{ streams: 2, heartbeatMs: 100, stalledMs: 1_000 },
    },
    destinations: { allow: ['127.0.0.1'], times: { ...times, lookMs: 50, noteMs: 20 } },
  });
  try {
    const read = (bearer: string) => {
      const headers = { Authorization: `Bearer ${bearer}`, Accept: 'text/event-stream' };
      return fetch(`${url}/changes`, { headers });
    };
    const stream = await until(async () => {
      const response = await read(token);
      return response.ok ? response : undefined;
    });
    expect((await read('wrong')).status).toBe(401);
    await apply(database, [receiptCallback()]);
    const { value } = await until(async () => {
      const now = await scrape(url);
      const isSent = now.value('receiver_webhook_records', { state: 'waiting' }) === 1;
      return isSent && now.value('receiver_destinations', { state: 'failing' }) === 1 ? now : undefined;
    });
    expect(value('receiver_feed_streams')).toBe(1);
    expect(value('receiver_feed_refused_total', { status: '401' })).toBe(1);
    expect(value('receiver_requests_total', { family: 'none', status: '401' })).toBeUndefined();
    const [last] = await database.rows('select max(position)::float8 as position from changes');
    expect(value('receiver_feed_position')).toBe(last!.position);
    expect(value('receiver_feed_lag_seconds')).toBe(0);
    expect(value('receiver_webhooks_total', { outcome: '5xx' })).toBeGreaterThanOrEqual(1);
    expect(value('receiver_webhook_records', { state: 'parked' })).toBe(0);
    expect(value('receiver_webhook_oldest_undelivered_age_seconds')).toBeGreaterThan(0);
    await stream.body!.cancel();
    await until(async () => (await scrape(url)).value('receiver_feed_streams') === 0);
  } finally {
    await webhooks.stop();
  }
});
