import type { Log } from '../common/log.ts';
import { type RateLimit, rateLimit } from '../common/rate-limit.ts';
import type { Config } from '../config/config.ts';
import { createTokenAccess } from '../http/admin.ts';
import { logAccess } from '../privacy/log/access-log.ts';
import type { Db } from '../store/tables.ts';

export type Limits = ReturnType<typeof openLimits>;

/** How often something may happen, in each process. */
export function openLimits(config: Config) {
  const { rejectionsPerMinute } = config.limits;
  const limit = (points: number, durationS: number) => rateLimit({ points, durationS });
  const failures = () => limit(10, 300);
  return {
    rejections: limit(rejectionsPerMinute, 60),
    // Apart, so that wrong tokens of one kind use up no attempts of another.
    signIns: { 'admin token': failures(), 'identity provider': failures() },
    adminTokens: failures(),
    scrapes: failures(),
    changes: failures(),
    searches: { privacy: limit(30, 60), others: limit(10, 60) },
  };
}

/** Access with a token: to metrics, and to what administrators read without the console. */
export function openTokens(
  { adminToken, metricsToken, authentication: { trustProxy } }: Config,
  limits: Limits,
  db: Db,
  log: Log,
) {
  if (adminToken && !metricsToken) {
    log.warn('METRICS_TOKEN is not set: ADMIN_TOKEN, which opens patients’ data, is what a scraper needs');
  }
  const onWrong = (address: string) => {
    const filter = { with: 'admin token', reason: 'wrong token', as: 'bearer' };
    logAccess(db, { actor: { id: 'unknown', address }, action: 'sign-in failed', filter }).catch((err) =>
      log.limited('error', {}, 'the access log cannot be written', { err }),
    );
  };
  const accessOf = (token: string | undefined, name: string, attempts: RateLimit) =>
    token
      ? createTokenAccess({ token, name, attempts, trustProxy, ...(token === adminToken && { onWrong }) })
      : undefined;
  return {
    admin: accessOf(adminToken, 'admin token', limits.adminTokens),
    metrics: metricsToken
      ? accessOf(metricsToken, 'METRICS_TOKEN', limits.scrapes)
      : accessOf(adminToken, 'admin token', limits.scrapes),
  };
}
