import type { RequestHandler, Response } from 'express';
import type { z } from 'zod';

const statuses = [400, 401, 403, 404, 422, 429, 500, 502, 503];

/**
 * Injects the fault that a path below /fault-NAME names: a status, `garbage`, `reset`, `hang`, or `lost`, where the request is
 * handled and its response lost; with /fault-once-NAME, into every other request.
 */
export function injectFaults(): RequestHandler {
  const failedOnce = new Set<string>();

  return (request, response, next) => {
    let name = /^\/fault-([a-z0-9-]+)/.exec(request.originalUrl)?.[1];
    if (name?.startsWith('once-')) {
      if (failedOnce.delete(name)) return next();
      failedOnce.add(name);
      name = name.slice('once-'.length);
    }
    if (name === 'lost') response.end = () => response.destroy();
    if (name === 'reset') request.socket.destroy();
    if (name === 'garbage') response.type('json').send('{"skip_state": "abha_end", "svc": {');
    if (statuses.includes(Number(name))) {
      if (name === '429') response.set('Retry-After', '1');
      sendError(response, Number(name), `fault-${name}`, 'requested by the address');
    }
    if (!response.headersSent && name !== 'reset' && name !== 'hang') next();
  };
}

/** The interface shows no error bodies (section 7): this shape is the sandbox's own. */
export function sendError(response: Response, status: number, code: string, message: string): void {
  response.status(status).json({ error: { code, message } });
}

export function sendInvalid(response: Response, status: number, code: string, { issues }: z.ZodError): void {
  const fields = issues.map(({ path }) => path.join('.') || 'body').join(', ');
  sendError(response, status, code, `invalid: ${fields}`);
}
