import { setTimeout as sleep } from 'node:timers/promises';
import type { Request, Response } from 'express';
import { seededRandom } from './random.ts';

const huge = 10 * 1024 * 1024;

/** Faults by the name in a magic value; docs/sandbox.md lists them. */
const faults: Record<string, (request: Request, response: Response) => void> = {
  hang: () => {},
  garbage: (_, response) => void response.type('json').send('{"skip_state": "abha_end", "svc": {'),
  html: (_, response) => void response.type('html').send('<html><body>Under maintenance</body></html>'),
  array: (_, response) => void response.json([]),
  redirect: (_, response) => void response.redirect(302, '/elsewhere'),
  huge: (_, response) => void response.json({ drugs: [], lab_tests: [], filler: 'x'.repeat(huge) }),
  'huge-500': (_, response) => void response.status(500).json({ filler: 'x'.repeat(huge) }),
  reset: (request) => void request.socket.destroy(),
  // Without Retry-After.
  limited: (_, response) =>
    void response.status(403).json({ code: 'rate_limit_exceeded', message: 'too many requests' }),
  stall: (_, response) => void response.type('json').write('{"drugs": ['),
  echo: (request, response) =>
    void response
      .status(400)
      .json({ sent: { headers: request.headers, query: request.query, body: request.body } }),
};
for (const status of [400, 401, 403, 404, 409, 422, 429, 500, 502, 503, 504]) {
  faults[status] = (_, response) => {
    if (status === 429) response.set('Retry-After', '1');
    sendError(response, status, `fault-${status}`, 'requested by a magic value');
  };
}

const readFaults = ['429', 'limited', '500', 'reset', 'slow'];

/** The faults of the mobiles 9000000001, 9000000002, and so on. */
const byMobile = ['slow', 'hang', 'garbage', 'redirect', 'huge', 'reset', 'stall', 'echo', 'html'];

/**
 * Injects the fault that a magic value of the request names: a mobile 9000000NNN, an abha_address or search query that
 * begins with fault-NAME, or a path below /fault-NAME; with fault-once-NAME, into every other request. A share of the reads
 * of records gets one at random. The result says whether it did.
 */
export function faultInjector(slowMs: number, shareOfReads = 0) {
  const failedOnce = new Set<string>();
  const random = seededRandom(1, 4);

  const randomFault = ({ path }: Request) =>
    /^\/(dr|appointments|profiles)\//.test(path) && random.chance(shareOfReads)
      ? random.pick(readFaults)
      : undefined;

  return async function inject(request: Request, response: Response): Promise<boolean> {
    let name = faultNamed(request) ?? randomFault(request);
    if (name?.startsWith('once-')) {
      if (failedOnce.delete(name)) return false;
      failedOnce.add(name);
      name = name.slice('once-'.length);
    }
    if (name === 'slow') await sleep(slowMs, undefined, { ref: false });
    // The request is handled, and its response is lost.
    if (name === 'lost') response.end = () => response.destroy();
    const fault = name === undefined || !Object.hasOwn(faults, name) ? undefined : faults[name];
    fault?.(request, response);
    return fault !== undefined;
  };
}

function faultNamed(request: Request): string | undefined {
  const { mobile, abha_address } = (request.body ?? {}) as Record<string, unknown>;
  const ending = /^9000000(\d{3})$/.exec(String(mobile))?.[1];
  if (ending !== undefined) return byMobile[Number(ending) - 1] ?? ending;
  for (const text of [abha_address, request.query.q, request.originalUrl.slice(1)]) {
    const named = /^fault-([a-z0-9-]+)/.exec(String(text))?.[1];
    if (named !== undefined) return named;
  }
  return undefined;
}

/** Sends an error response. The interface shows no error bodies (section 7): this shape is the sandbox's own. */
export function sendError(response: Response, status: number, code: string, message: string): void {
  response.status(status).json({ error: { code, message } });
}
