import leven from 'leven';
import { type Environment, type FamilyPaths, variableNames } from './variables.ts';

const documentedPath = 'register the documented path of the family, or EVENTS_PATH, which takes every event';
const families =
  'APPOINTMENTS PRESCRIPTIONS PAYMENT_REQUESTS PRACTICE_CHANGES ADMISSIONS ADMISSION_EVENTS ' +
  'ADMISSION_CLEARANCES ADMISSION_ESTIMATES NOTICES HEALTH_ACCOUNTS CARE_CONTEXTS BOOKINGS';
const proxy = 'limit requests at the proxy, as deploy/nginx does';

/** Variables of version 1, and what to use instead. Not those of OpenTelemetry, which its own instrumentation reads. */
export const formerVariables: Readonly<Record<string, string>> = {
  SOCKET: 'listen at PORT',
  ...Object.fromEntries(families.split(' ').map((name) => [`${name}_PATH`, documentedPath])),
  SIGNATURE_TOLERANCE_S: 'a signature is stale after 180 s',
  DATABASE_SCHEMA: 'give the receiver a database of its own',
  DATABASE_CONNECTIONS: 'a process opens at most 13 connections',
  QUARANTINE_LIMIT: 'RETENTION limits the age of what the quarantine keeps',
  RATE_LIMIT: proxy,
  REJECTION_LIMIT: proxy,
  ERASURE_KEEPS_TOTALS: 'the amounts of erased receipts stay in totals',
  OIDC_ROLES_CLAIM:
    'the claims are `roles` and `groups`; OIDC_ROLES_MAP gives roles to values, e-mail addresses and domains',
  OIDC_SCOPES: 'the scopes are openid, profile and email',
  REPORT_CURRENCY: 'amounts are in rupees',
  REQUEST_LOG: 'use the access log of the proxy',
  METRICS_PORT: 'scrape /metrics at PORT',
  ALERT_REJECTIONS_PER_MINUTE: 'ten requests in an hour that got the same 401, 403, 413 or 429 are an alert',
  SERVICE_TIMEOUT_MS: 'an attempt may take 10 s, a call 30 s, a read 5 minutes',
  RECONCILE_WITH: 'RECONCILE compares appointments alone',
  RECONCILE_WITH_PER_MINUTE: 'RECONCILE compares appointments alone',
  CHANGES_ALLOWED_IPS: 'allow addresses for /changes at the proxy',
  DESTINATIONS_ALLOW: 'webhooks go wherever `receiver destinations add` says, also to private addresses',
};

const isFormer = (name: string) => Object.hasOwn(formerVariables, name);

export function findFormer(env: Environment, families: readonly FamilyPaths[]): string[] {
  const ours = variableNames(families);
  return Object.keys(env)
    .filter((name) => env[name] && isFormer(name) && !ours.includes(name))
    .map((name) => `${name} is no variable any more: ${formerVariables[name]}`);
}

export function findMisspelt(env: Environment, families: readonly FamilyPaths[]): string[] {
  const ours = variableNames(families).flatMap((name) => [name, `${name}_FILE`]);
  const others = Object.keys(env).filter((name) => env[name] && !ours.includes(name) && !isFormer(name));
  return others.flatMap((name) => {
    const meant = ours.find((other) => leven(name.toUpperCase(), other) <= (other.length > 8 ? 2 : 1));
    return meant ? [`${name} is no variable of the receiver: did you mean ${meant}?`] : [];
  });
}
