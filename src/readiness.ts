import { withTimeout } from './with-timeout.ts';

/** Something that the service needs, and how to find out whether it answers. */
export interface HealthCheck {
  name: string;
  /** Whether the service cannot do its work without it. */
  required: boolean;
  /** Resolves with what there is to say, or raises an error. */
  check: () => Promise<string>;
}

export interface Readiness {
  ready: boolean;
  parts: Record<string, { ok: boolean; detail: string }>;
}

const timeoutMs = 2_000;

/** Asks every part, for two seconds at most. */
export async function readiness(parts: readonly HealthCheck[]): Promise<Readiness> {
  const answers = await Promise.all(parts.map(ask));
  const ready = parts.every((part, index) => !part.required || answers[index]!.ok);
  return { ready, parts: Object.fromEntries(parts.map((part, index) => [part.name, answers[index]!])) };
}

/** What strangers are told: how the service is set is for administrators. */
export function withoutDetails(parts: Readiness['parts']): Record<string, { ok: boolean }> {
  return Object.fromEntries(Object.entries(parts).map(([name, { ok }]) => [name, { ok }]));
}

async function ask({ check }: HealthCheck): Promise<{ ok: boolean; detail: string }> {
  try {
    return { ok: true, detail: await withTimeout(timeoutMs, check()) };
  } catch {
    return { ok: false, detail: 'does not answer' };
  }
}
