import { MissingSettings, parseSettings } from '../client/commands/settings.ts';
import { createServiceClient } from '../client/service-client.ts';
import { families } from '../families/index.ts';
import { compareSubscriptions } from '../reconcile/subscriptions.ts';
import type { Check } from './finding.ts';

/** Shorter than the time limit of a check. */
const timeoutMs = 6_000;

/** Whether the platform sends the receiver what it takes, where the platform's address is set. */
export const checkSubscriptions: Check = async ({ env, config, redact }, report) => {
  if (!env.SERVICE_BASE_URL || config.role === 'worker') return;
  try {
    const client = createServiceClient(parseSettings(env));
    const { data } = await client.listSubscriptions({ signal: AbortSignal.timeout(timeoutMs) });
    const findings = compareSubscriptions(data, { config, families });
    for (const { title, detail } of findings) report('warn', 'subscriptions', redact(`${title}. ${detail}`));
    const scope = config.publicUrl ? '' : ', by their paths only: PUBLIC_URL is not set';
    if (findings.length === 0) report('ok', 'subscriptions', `${data.length} bring every event here${scope}`);
  } catch (error) {
    const { message } = error as Error;
    const cause = error instanceof MissingSettings ? message : redact(message);
    report('warn', 'subscriptions', `could not be compared with the platform: ${cause}`);
  }
};
