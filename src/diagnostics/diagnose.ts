import { withTimeout } from '../common/with-timeout.ts';
import type { Environment } from '../config/config.ts';
import { checkChanges } from './changes.ts';
import { checkConfiguration, readConfiguration } from './configuration.ts';
import { checkDatabase, checkDirectDatabase } from './database.ts';
import type { Check, Finding, ReportFinding, Subject } from './finding.ts';
import { checkDisk, checkProcess } from './machine.ts';
import { checkPlatform } from './platform.ts';
import { checkPorts } from './ports.ts';
import { redactor } from './redact.ts';
import { checkRedis } from './redis.ts';
import { checkSenders } from './senders.ts';
import { checkSubscriptions } from './subscriptions.ts';

const checks: Record<string, Check> = {
  configuration: checkConfiguration,
  senders: checkSenders,
  changes: checkChanges,
  process: checkProcess,
  disk: checkDisk,
  database: checkDatabase,
  'direct database': checkDirectDatabase,
  redis: checkRedis,
  ports: checkPorts,
  platform: checkPlatform,
  subscriptions: checkSubscriptions,
};

const timeoutMs = 8_000;

/** Runs all checks at once. Ends within `timeoutMs`, with what was found until then. */
export async function diagnose(env: Environment): Promise<Finding[]> {
  const subject = { env, ...readConfiguration(env), redact: redactor(env) };
  const findings = await Promise.all(
    Object.entries(checks).map(([name, check]) => run(name, check, subject)),
  );
  return findings.flat();
}

async function run(name: string, check: Check, subject: Subject): Promise<Finding[]> {
  const findings: Finding[] = [];
  const report: ReportFinding = (status, name, detail) => findings.push({ status, name, detail });
  try {
    await withTimeout(timeoutMs, Promise.resolve(check(subject, report)));
  } catch (error) {
    report('fail', name, subject.redact(error instanceof Error ? error.message : String(error)));
  }
  return findings;
}
