import { sql } from 'kysely';
import { numberChanges } from '../../src/changes/open-feed.ts';
import { families } from '../../src/families/index.ts';
import { erasePatient } from '../../src/privacy/erasure/erase.ts';
import { consentFormCallback, receiptCallback } from '../support/callbacks.ts';
import { apply } from '../support/deliveries.ts';
import { type ServiceOptions, useService } from '../support/service.ts';
import { until } from '../support/until.ts';

const token = 'k3v9x7q2m5n8b1c4';
const publicToken = 'z8y6w4u2s9r7p5o3';
const { database, start } = useService({ per: 'test' });

const changes = {
  tokens: [
    { token, isPublic: false },
    { token: publicToken, isPublic: true },
  ],
  allowedIps: [],
  streams: 2,
  heartbeatMs: 100,
  stalledMs: 1_000,
};

async function serve(options: ServiceOptions = {}) {
  const { url } = await start({ changes, role: 'receiver', ...options });
  const get = (query: Record<string, string> = {}, headers: Record<string, string> = {}) =>
    fetch(`${url}/changes?${new URLSearchParams(query)}`, {
      headers: { Authorization: `Bearer ${token}`, ...headers },
    });
  await until(async () => (await get()).status !== 503);
  const read = async (query: Record<string, string> = {}, headers = {}) =>
    (await (await get(query, headers)).json()) as {
      changes: {
        cursor: string;
        family: string;
        id: string;
        kind: string;
        version: number;
        event: string | null;
        record: Record<string, unknown> | null;
      }[];
      next: string;
      more: boolean;
    };
  return { url, get, read };
}

it('reads all records from the beginning, then what changed since', async () => {
  await apply(database, [receiptCallback({ receipt_id: 1 }), receiptCallback({ receipt_id: 2 }), consentFormCallback()]);
  const { read } = await serve();
  const first = await read({ limit: '2' });
  console.log(JSON.stringify(first, null, 1));
  const rest = await read({ after: first.next });
  console.log(JSON.stringify(rest, null, 1));
  await apply(database, [receiptCallback({ receipt_id: 3 })]);
  const last = await read({ after: rest.next });
  console.log(JSON.stringify(last, null, 1));
  expect(last.changes).toMatchObject([{ family: 'receipt', id: '3', kind: 'changed' }]);
});
