import { withTimeout } from '../common/with-timeout.ts';
import type { ConsoleDependencies } from './dependencies.ts';

const timeoutMs = 1_000;

/** What becomes of callbacks while PostgreSQL is unavailable. */
export async function describeOutage({ fallback }: Pick<ConsoleDependencies, 'fallback'>): Promise<string> {
  if (!fallback) {
    return 'No Redis is configured, so callbacks get a 503 until then: what the sender does not send again is lost.';
  }
  try {
    const [count, since] = await withTimeout(timeoutMs, Promise.all([fallback.count(), fallback.oldest()]));
    if (!since) return 'Callbacks that arrive meanwhile are safe in Redis; there are none yet.';
    return `Callbacks are safe in Redis until then: ${count} since ${since.toISOString()}. Do not wipe Redis.`;
  } catch {
    return 'How many callbacks are in Redis could not be read. While Redis is unavailable too, they get a 503.';
  }
}
