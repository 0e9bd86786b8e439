import { useDatabase } from '../support/database.ts';
import { startTestService } from '../support/service.ts';

jest.mock('@opentelemetry/sdk-trace-base', () => {
  throw new Error('the SDK is loaded');
});

const database = useDatabase({ per: 'test' });

it('without an endpoint, nothing of the SDK is loaded', async () => {
  const service = await startTestService({
    databaseUrl: database.url,
    adminToken: 'an-admin-token-of-tests',
  });
  await service.stop();
  const tracing = { endpoint: 'http://127.0.0.1:1', headers: {}, resource: {}, serviceName: 'a', ratio: 1 };
  await expect(startTestService({ databaseUrl: database.url, tracing })).rejects.toThrow('the SDK is loaded');
});
