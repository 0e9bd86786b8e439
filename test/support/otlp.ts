import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A span as it was exported. */
export interface ExportedSpan {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  attributes: Record<string, unknown>;
  links: { traceId: string; spanId: string }[];
  isError: boolean;
  /** Of the process. */
  resource: Record<string, unknown>;
}

interface Attribute {
  key: string;
  value: Record<string, unknown>;
}
interface Body {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: {
      spans: (Omit<ExportedSpan, 'attributes'> & { attributes: Attribute[]; status: { code: number } })[];
    }[];
  }[];
}

export interface OtlpReceiver {
  url: string;
  /** The spans that were exported so far. */
  spans: () => ExportedSpan[];
  /** Everything that was sent, as text. */
  received: () => string;
  headers: () => IncomingHttpHeaders[];
  /** The number of requests, with those that got no response. */
  requests: () => number;
  /** The status of further responses; undefined: it does not respond. */
  respondWith: (status: number | undefined) => void;
  close: () => Promise<void>;
}

/** Receives traces by OTLP over HTTP, in JSON. */
export async function startOtlpReceiver(port = 0): Promise<OtlpReceiver> {
  const bodies: string[] = [];
  const headers: IncomingHttpHeaders[] = [];
  let status: number | undefined = 200;
  let requests = 0;
  const server = createServer(async (req, res) => {
    requests += 1;
    const body = await text(req);
    if (status === undefined) return;
    if (status === 200 && req.url === '/v1/traces') {
      bodies.push(body);
      headers.push(req.headers);
    }
    res.writeHead(status, { 'Content-Type': 'application/json' }).end('{}');
  });
  await once(server.listen(port, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: () => bodies.flatMap((body) => spansOf(JSON.parse(body) as Body)),
    received: () => bodies.join('\n'),
    headers: () => headers,
    requests: () => requests,
    respondWith: (next) => {
      status = next;
    },
    close: async () => {
      server.closeAllConnections();
      if (server.listening) await once(server.close(), 'close');
    },
  };
}

const valuesOf = (attributes: Attribute[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

const spansOf = ({ resourceSpans }: Body): ExportedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ status, ...span }) => ({
        ...span,
        attributes: valuesOf(span.attributes),
        isError: status.code === 2,
        resource: valuesOf(resource.attributes),
      })),
    ),
  );
