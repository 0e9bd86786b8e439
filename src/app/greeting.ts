import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type Family, takesEveryEvent } from '../callbacks/families/family.ts';
import { families as documented } from '../callbacks/families/index.ts';
import { type Config, takesCallbacks } from '../common/config/config.ts';
import { weaknessOf } from '../common/config/value-types.ts';
import { readOrCreate } from '../common/secrets.ts';
import { findPlace } from '../embedded/place.ts';

export function greeting(
  url: string,
  config: Config,
  families: readonly Family[],
  generated: AdminToken | undefined,
): string {
  const base = config.publicUrl ?? url;
  const isOwn = (family: Family) => !documented.some(({ name }) => name === family.name);
  const shown = families.filter((family) => family.path.isBasic || takesEveryEvent(family) || isOwn(family));
  const [first] = shown.flatMap(({ name }) => config.paths[name] ?? []);
  const lines = shown.flatMap((family) => {
    const name = takesEveryEvent(family) ? 'every event' : family.name.replaceAll('_', ' ');
    const [path] = config.paths[family.name] ?? [];
    return path ? [`  ${name.padEnd(16)}${base}${path}`] : [];
  });
  return `
The receiver is ready. Callback URLs:

${lines.join('\n')}
  (docs/callbacks.md lists the paths of the other families)
${config.adminToken ? consoleHint(base, generated) : ''}${config.authentication.signingKeys.length > 0 ? '' : example(`curl -s ${url}${first}`)}
`;
}

function consoleHint(url: string, generated: AdminToken | undefined): string {
  if (!generated) return `\nConsole: ${url}/console (sign in with ADMIN_TOKEN)\n`;
  const { file, isNew, token } = generated;
  return `\nConsole: ${url}/console\nIts token is stored in ${file}${isNew ? `:\n\n  ${token}` : '.'}\n`;
}

function example(curl: string): string {
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
Send an example and read its row:

  ${curl} -H 'Content-Type: application/json' -d '${JSON.stringify(callback)}'
  npx receiver sql 'select receipt_id, name, net_amount, last_event, event_time from receipts'

Or fill the console with eight weeks of a fictitious clinic:

  npx receiver send --history
`;
}

interface AdminToken {
  token: string;
  file: string;
  isNew: boolean;
}

/** The admin token of a service on the embedded database where ADMIN_TOKEN is unset: generated once, and stored there. */
export function provideAdminToken(config: Config): AdminToken | undefined {
  if (config.adminToken || config.databaseUrl || !takesCallbacks(config)) return undefined;
  const file = join(config.dataDir, 'admin-token');
  findPlace(config.dataDir); // before a secret is written there
  const { content, isNew } = readOrCreate(file, () => `${randomBytes(18).toString('base64url')}\n`);
  if (weaknessOf(content))
    throw new Error(`${file} contains no valid token. Delete it: the next start generates a new one.`);
  return { token: content, file, isNew };
}
