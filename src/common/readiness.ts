import { timeLimits } from './time-limits.ts';
import { withTimeout } from './with-timeout.ts';

/** A check of something that the receiver uses. */
export interface HealthCheck {
  name: string;
  /** The receiver is not ready while this check fails. */
  required?: true;
  /** Resolves with a description of the state; raises an error if the check fails. */
  check: () => Promise<string>;
  /** Since when it fails, where that is known. */
  since?: () => Date | undefined;
}

/** The result of a check; `detail` describes the state. */
export interface Checked {
  ok: boolean;
  detail: string;
  since?: Date | undefined;
}

/** Raised by a check that found something wrong; its message is the state. */
export class CheckFailed extends Error {}

export type Readiness = Awaited<ReturnType<typeof readiness>>;

const sharedMs = 1_000;

const defaultMs = timeLimits().readinessMs;

/** Runs all checks at once; a check that takes longer than `timeoutMs` has failed. */
export async function readiness(checks: readonly HealthCheck[], timeoutMs = defaultMs) {
  const results = await Promise.all(checks.map((check) => run(check, timeoutMs)));
  const ready = checks.every(({ required }, index) => !required || results[index]!.ok);
  return { ready, parts: Object.fromEntries(checks.map(({ name }, index) => [name, results[index]!])) };
}

/** Runs all checks, once at a time and a second apart at least: callers in between share the result. */
export function sharedReadiness(
  checks: readonly HealthCheck[],
  timeoutMs = defaultMs,
): () => Promise<Readiness> {
  let last: Promise<Readiness> | undefined;
  let endsAt = Number.POSITIVE_INFINITY;
  return () => {
    if (last && performance.now() < endsAt) return last;
    endsAt = Number.POSITIVE_INFINITY;
    last = readiness(checks, timeoutMs).finally(() => {
      endsAt = performance.now() + sharedMs;
    });
    return last;
  };
}

/** Only administrators see how the receiver is configured. */
export function withoutDetails(parts: Readiness['parts']): Record<string, { ok: boolean }> {
  return Object.fromEntries(Object.entries(parts).map(([name, { ok }]) => [name, { ok }]));
}

async function run({ check, since }: HealthCheck, timeoutMs: number): Promise<Checked> {
  try {
    return { ok: true, detail: await withTimeout(timeoutMs, check()) };
  } catch (error) {
    const detail = error instanceof CheckFailed ? error.message : 'does not respond';
    return { ok: false, detail, since: since?.() };
  }
}
