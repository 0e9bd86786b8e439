import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openPlatform } from '../../src/service/open-platform.ts';
import { business, type Listed } from '../support/listed-appointments.ts';

/** What an answer is instead; `lost`: the connection ends without one. */
type Fault = { status: number; headers?: Record<string, string> } | 'lost' | 'no date' | undefined;

const pageSize = 30;

/** The platform behind HTTP, with 30 appointments a page. `fault` is asked for each request that reads. */
export async function startFaultyPlatform(
  appointments: readonly Listed[],
  fault: (path: URL, count: number) => Fault,
) {
  let reads = 0;
  let logins = 0;
  const answer = ({ pathname, searchParams }: URL): object | undefined => {
    if (pathname.endsWith('/entities'))
      return { data: { business: { business_id: business, name: 'Practice' } } };
    const id = /^\/dr\/v1\/appointment\/(.+)$/.exec(pathname)?.[1];
    if (id) return appointments.find(({ appointment_id }) => appointment_id === decodeURIComponent(id));
    const [from, to] = ['start_date', 'end_date'].map((name) => Date.parse(searchParams.get(name)!) / 1000);
    const place = Number(searchParams.get('page_no')) * pageSize;
    const found = appointments.filter(({ start_time }) => start_time >= from! && start_time < to!);
    return { appointments: found.slice(place, place + pageSize) };
  };
  const respond = (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url!, 'http://platform');
    const send = (status: number, body: object) => response.writeHead(status).end(JSON.stringify(body));
    if (url.pathname.startsWith('/connect-auth/'))
      return send(200, { access_token: `token-${++logins}`, expires_in: 1_800 });
    const given = fault(url, reads++);
    if (given === 'lost') return request.socket.destroy();
    if (given === 'no date') response.sendDate = false;
    if (typeof given === 'object') {
      for (const [name, value] of Object.entries(given.headers ?? {})) response.setHeader(name, value);
      return send(given.status, { message: 'fault' });
    }
    if (request.headers.auth !== `token-${logins}`) return send(401, { message: 'expired' });
    const body = answer(url);
    return send(body ? 200 : 404, body ?? { message: 'no such record' });
  };
  const server = createServer(
    (request, response) => void request.on('end', () => respond(request, response)).resume(),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const platform = openPlatform({
    SERVICE_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    SERVICE_CLIENT_ID: 'client',
    SERVICE_CLIENT_SECRET: 'secret',
  });
  return {
    platform,
    /** Every token so far has expired. */
    expireTokens: () => {
      logins += 1;
    },
    logins: () => logins,
    close: async () => {
      await platform.close();
      server.closeAllConnections();
      server.close();
    },
  };
}
