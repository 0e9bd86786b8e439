import { once } from 'node:events';
import * as http2 from 'node:http2';
import * as https from 'node:https';
import { selfSigned } from '../support/self-signed.ts';

export interface Response {
  status: number;
  body: string;
}

interface Message {
  method?: 'GET' | 'POST';
  path: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** Sends no Content-Length. */
  chunked?: boolean;
}

/** Sends a request, and resolves with the response; one without a response raises the connection's error. */
export type Send = (message: Message) => Promise<Response>;

const ca = selfSigned.cert;
const json = { 'content-type': 'application/json' };

/** Over HTTP/1.1, on kept connections or on a new one for each request. */
export function openHttp1(url: string, connections: 'kept' | 'new'): { send: Send; close: () => void } {
  const agent = new https.Agent({ ca, keepAlive: connections === 'kept', maxSockets: 200 });
  const send: Send = ({ method = 'POST', path, headers, body = '', chunked = false }) =>
    new Promise((resolve, reject) => {
      const length = chunked
        ? { 'transfer-encoding': 'chunked' }
        : { 'content-length': Buffer.byteLength(body) };
      // As an option the path is sent as it is; in a URL, its dots would be resolved.
      const options = { method, path, agent, headers: { ...json, ...length, ...headers } };
      const request = https.request(url, options, async (response) => {
        try {
          resolve({ status: response.statusCode!, body: await textOf(response) });
        } catch (error) {
          reject(error);
        }
      });
      request.on('error', reject);
      request.end(body);
    });
  return { send, close: () => agent.destroy() };
}

/** Over HTTP/2, on one connection. */
export function openHttp2(url: string): { send: Send; close: () => void } {
  let session: http2.ClientHttp2Session | undefined;
  const open = () => {
    const opened = http2.connect(url, { ca });
    opened.on('error', () => {}); // each request gets it, too
    return opened;
  };
  const send: Send = async (message) => {
    const { method = 'POST', path, headers, body = '' } = message;
    // A proxy may end a connection, such as after a number of requests; then the next request opens another.
    if (!session || session.closed || session.destroyed) session = open();
    const stream = session.request({ ':method': method, ':path': path, ...json, ...headers });
    stream.end(body);
    try {
      const [response] = (await once(stream, 'response')) as [
        http2.IncomingHttpHeaders & { ':status': number },
      ];
      return { status: response[':status'], body: await textOf(stream) };
    } catch (error) {
      // A request that the server has not taken from a connection that it is closing (RFC 9113, section 8.7).
      if (stream.rstCode !== http2.constants.NGHTTP2_REFUSED_STREAM) throw error;
      session = undefined;
      return send(message);
    }
  };
  return { send, close: () => session?.destroy() };
}

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
