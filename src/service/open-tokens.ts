import type { Log } from '../common/log.ts';
import type { RateLimit } from '../common/rate-limit.ts';
import type { Config } from '../config/config.ts';
import { createTokenAccess } from '../http/admin.ts';
import { logAccess } from '../privacy/log/access-log.ts';
import type { Db } from '../store/tables.ts';
import type { Limits } from './open-limits.ts';

/** Access with a token: to metrics, and to what administrators read without the console. */
export function openTokens(
  { adminToken, metricsToken, metrics, role, authentication: { trustProxy } }: Config,
  limits: Limits,
  db: Db,
  log: Log,
) {
  if (adminToken && !metricsToken && (role !== 'worker' || metrics.port !== undefined)) {
    log.warn('METRICS_TOKEN is not set: ADMIN_TOKEN, which opens patients’ data, is what a scraper needs');
  }
  const onWrong = (address: string) => {
    const filter = { with: 'admin token', reason: 'wrong token', as: 'bearer' };
    logAccess(db, { actor: { id: 'unknown', address }, action: 'sign-in failed', filter }).catch((err) =>
      log.limited('error', {}, 'the access log cannot be written', { err }),
    );
  };
  const accessOf = (token: string, name: string, attempts: RateLimit) =>
    createTokenAccess({
      token,
      name,
      attempts,
      trustProxy,
      ...(token === adminToken && { onWrong }),
    });
  const forMetrics = metricsToken ?? adminToken;
  const nameForMetrics = metricsToken ? 'METRICS_TOKEN' : 'admin token';
  return {
    admin: adminToken ? accessOf(adminToken, 'admin token', limits.adminTokens) : undefined,
    metrics: forMetrics ? accessOf(forMetrics, nameForMetrics, limits.scrapes) : undefined,
  };
}
