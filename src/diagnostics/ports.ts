import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { createServer, type ListenOptions } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Readiness } from '../common/readiness.ts';
import type { Config } from '../config/config.ts';
import { listening, PortUnavailable } from '../http/prepare-port.ts';
import type { Check, ReportFinding, Subject } from './finding.ts';

const timeoutMs = 3_000;

/** The port, and what the receiver says that listens there. */
export const checkPorts: Check = async (subject, report) => {
  const { host, port } = subject.config;
  if (!subject.invalid.has('PORT')) await checkPlace('PORT', { host, port }, subject, report);
};

async function checkPlace(
  variable: string,
  place: ListenOptions,
  subject: Subject,
  report: ReportFinding,
): Promise<void> {
  const { config } = subject;
  const name = place.port;
  try {
    const server = createServer((socket) => socket.destroy());
    await listening(server.listen(place), { ...config, port: place.port ?? 0 });
    server.close();
    const free = place.port === 0 ? 'any free one' : `${name} is free: the receiver does not run here`;
    report('ok', variable, free);
  } catch (error) {
    if (!(error instanceof PortUnavailable)) throw error;
    const isTaken = (error.cause as NodeJS.ErrnoException).code === 'EADDRINUSE';
    const health = isTaken ? await ask(place, '/healthz').catch(codeOf) : {};
    if ((health as { status?: string }).status === 'alive') {
      report('ok', variable, `the receiver runs at ${name}`);
      await includeReadiness(place, subject, report);
    } else {
      report('fail', variable, error.message);
    }
  }
}

const codeOf = ({ code }: NodeJS.ErrnoException) => ({ code });

/** The response of /readyz, line by line; with the details for administrators. */
async function includeReadiness(
  place: ListenOptions,
  { config, redact }: Subject,
  report: ReportFinding,
): Promise<void> {
  const { parts } = (await ask(place, '/readyz', adminToken(config))) as Readiness;
  for (const [name, { ok, detail }] of Object.entries(parts)) {
    const said = redact(detail ?? (ok ? 'available' : 'does not respond'));
    report(ok ? 'ok' : 'fail', `readyz: ${name}`, ok ? said : `${said}. Read the log of the receiver`);
  }
}

/**
 * Sends a request to the service.
 *
 * @returns the parsed response, whatever its status
 * @throws the error of the connection, or of a response that is not JSON
 */
async function ask({ host, port }: ListenOptions, path: string, token?: string): Promise<unknown> {
  const hostname = host?.replace(/^0\.0\.0\.0$/, '127.0.0.1').replace(/^::$/, '::1');
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const signal = AbortSignal.timeout(timeoutMs);
  const request = get({ hostname, port, path, headers, signal });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return JSON.parse(await text(response));
}

/** That of the environment, or the one that the receiver has generated. */
function adminToken({ adminToken: token, databaseUrl, dataDir }: Config): string | undefined {
  const file = join(dataDir, 'admin-token');
  return token || databaseUrl || !existsSync(file) ? token : readFileSync(file, 'utf8').trim();
}
