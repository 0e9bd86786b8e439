import type { Destination } from './destination-table.ts';
import { signedHeaders } from './sign.ts';
import type { Message } from './to-message.ts';

/** What came of one attempt. */
export interface Outcome {
  /** undefined: no answer came. */
  status?: number;
  /** The status, or the code of the error. */
  outcome: string;
  ms: number;
}

export const isAccepted = ({ status }: Outcome): boolean =>
  status !== undefined && status >= 200 && status < 300;

/** Sends a message once; redirects are not followed. Whatever happens is an outcome. @param cut ends the attempt */
export async function post(
  { url, secret }: Pick<Destination, 'url' | 'secret'>,
  { id, body }: Message,
  timeoutMs: number,
  cut?: AbortSignal,
): Promise<Outcome> {
  const began = performance.now();
  const ended = () => Math.round(performance.now() - began);
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'webhook-receiver',
        ...signedHeaders(id, body, secret, new Date()),
      },
      body,
      redirect: 'manual',
      signal: cut ? AbortSignal.any([cut, timeout]) : timeout,
    });
    const { status } = response;
    await response.body?.cancel();
    return { status, outcome: String(status), ms: ended() };
  } catch (error) {
    // Never a message: it could repeat the address, which may contain a secret.
    const { name, cause } = error as { name?: string; cause?: { code?: string } };
    return { outcome: String(cause?.code ?? name).slice(0, 60), ms: ended() };
  }
}
