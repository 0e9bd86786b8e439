import type { Config } from '../config.ts';
import type { Family } from '../families/index.ts';
import type { AdminToken } from './admin-token.ts';

/** What a person who starts the service wants to know: the addresses, and how to try one. */
export function greeting(
  url: string,
  config: Config,
  families: readonly Family[],
  made: AdminToken | undefined,
): string {
  const lines = families.map((family) => {
    const name = family.name.replaceAll('_', ' ');
    return `  ${name.padEnd(16)}${url}${config.paths[family.name]}`;
  });
  return `
The service is ready. Callbacks go to:

${lines.join('\n')}
${config.adminToken ? wayIn(url, made) : ''}${config.authentication.signingKeys.length > 0 ? '' : tryIt(`${url}${config.paths.receipt}`)}
`;
}

function wayIn(url: string, made: AdminToken | undefined): string {
  if (!made) return `\nThe console is at ${url}/console; ADMIN_TOKEN opens it.\n`;
  const token = made.isNew
    ? `Its token, printed this once and kept in ${made.file}:\n\n  ${made.token}`
    : `Its token is in ${made.file}.`;
  return `\nThe console is at ${url}/console. ${token}\n`;
}

function tryIt(address: string): string {
  const now = Math.floor(Date.now() / 1000);
  const callback = {
    event: 'receipt.created',
    event_time: now,
    timestamp: now,
    client_id: '64a1f0c2e4b0a1b2c3d4e5f6',
    business_id: '64a1f0c2e4b0a1b2c3d4e5f7',
    data: { receipt_id: 1, receipt_status: 'SUCCESS', net_amount: 450.5, name: 'Asha Rao' },
  };
  return `
Try one, and look at its row:

  curl -s ${address} -H 'Content-Type: application/json' -d '${JSON.stringify(callback)}'
  npx receiver sql 'select receipt_id, name, net_amount, last_event, event_time from receipts'
`;
}
