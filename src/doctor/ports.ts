import { existsSync, readFileSync } from 'node:fs';
import { createServer, isIPv6 } from 'node:net';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { listening, PortUnavailable } from '../http/prepare-port.ts';
import type { Readiness } from '../readiness.ts';
import type { Check, Report, Subject } from './finding.ts';

const timeoutMs = 3_000;

/** The ports, and what the service says that listens there. */
export const checkPorts: Check = async (subject, report) => {
  const { role, port, metrics } = subject.config;
  const ports: Record<string, number | undefined> = {
    PORT: role === 'worker' ? undefined : port,
    METRICS_PORT: metrics.port,
  };
  if (ports.PORT && ports.PORT === ports.METRICS_PORT) {
    report('fail', 'METRICS_PORT', 'the same as PORT. Set another one');
    delete ports.METRICS_PORT;
  }
  const checked = Object.entries(ports).map(async ([variable, number]) => {
    if (number !== undefined && !subject.invalid.has(variable))
      await checkPort(variable, number, subject, report);
  });
  await Promise.all(checked);
};

async function checkPort(variable: string, port: number, subject: Subject, report: Report): Promise<void> {
  const { config } = subject;
  try {
    const server = createServer((socket) => socket.destroy());
    await listening(server.listen(port, config.host), { ...config, port });
    server.close();
    report('ok', variable, port === 0 ? 'any free one' : `${port} is free: the service does not run here`);
  } catch (error) {
    if (!(error instanceof PortUnavailable)) throw error;
    const isTaken = (error.cause as NodeJS.ErrnoException).code === 'EADDRINUSE';
    const health = isTaken ? await ask(config.host, port, '/healthz').catch(() => ({})) : {};
    if ((health as { status?: string }).status === 'alive') {
      report('ok', variable, `the service runs at ${port}`);
      await includeReadiness(port, subject, report);
    } else {
      report('fail', variable, error.message.replaceAll(/\bPORT\b/g, variable));
    }
  }
}

/** What /readyz says, line by line; with the details for administrators. */
async function includeReadiness(port: number, { config, redact }: Subject, report: Report): Promise<void> {
  const { parts } = (await ask(config.host, port, '/readyz', adminToken(config))) as Readiness;
  for (const [name, { ok, detail }] of Object.entries(parts)) {
    const text = redact(detail ?? (ok ? 'available' : 'does not respond'));
    report(ok ? 'ok' : 'fail', `readyz: ${name}`, ok ? text : `${text}. Read the log of the service`);
  }
}

/**
 * Sends a request to the service.
 *
 * @returns the parsed response, whatever its status
 * @throws the error of the connection, or of a response that is not JSON
 */
async function ask(host: string, port: number, path: string, token?: string): Promise<unknown> {
  const name = host.replace(/^0\.0\.0\.0$/, '127.0.0.1').replace(/^::$/, '::1');
  const response = await fetch(`http://${isIPv6(name) ? `[${name}]` : name}:${port}${path}`, {
    headers: token ? { Authorization: `Bearer ${token}` } : {},
    signal: AbortSignal.timeout(timeoutMs),
    redirect: 'error',
  });
  return response.json();
}

/** That of the environment, or the one that the service has generated. */
function adminToken({ adminToken: token, databaseUrl, dataDir }: Config): string | undefined {
  const file = join(dataDir, 'admin-token');
  return token || databaseUrl || !existsSync(file) ? token : readFileSync(file, 'utf8').trim();
}
