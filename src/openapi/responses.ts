import { z } from 'zod';
import { type ErrorStatus, errorsOfCallbacks } from '../common/http-statuses.ts';
import { schemaRef } from './names.ts';

/** The body of a 200. */
export const acknowledgement = z
  .object({
    status: z
      .enum(['accepted', 'duplicate', 'erased', 'expired'])
      .describe(
        'duplicate: the delivery was received before; erased: its patient was erased, expired: it is past its retention: neither is stored',
      ),
    id: z.uuid().describe('The same for every repetition of a callback, whatever its timestamp'),
  })
  .meta({ title: 'The delivery is durable, or is not to be stored' });

/** The body of every other response (RFC 9457). */
export const problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string().optional(),
    errors: z
      .array(z.object({ path: z.string().describe('A JSON pointer'), message: z.string() }))
      .optional()
      .describe('The fields that are invalid, never their values'),
  })
  .meta({ title: 'Problem' });

const header = (description: string, schema: object) => ({ description, required: true, schema });
const retryAfter = { 'Retry-After': header('Seconds to wait', { type: 'integer', minimum: 0 }) };

const headers: Partial<Record<ErrorStatus, object>> = {
  401: { 'WWW-Authenticate': header('Signature', { type: 'string' }) },
  405: { Allow: header('POST', { type: 'string' }) },
  429: retryAfter,
  503: retryAfter,
};

/** What is promised about a body that is stored in quarantine. */
const kept: Partial<Record<ErrorStatus, string>> = {
  422: ' The body is stored before this response, until the quarantine is full: then the oldest bodies are dropped.',
};

/** The receiver's responses to a callback, by status. The interface shows none (section 6): these are the receiver's own. */
export const callbackResponses: Record<string, object> = {
  200: {
    description: 'The delivery is durable, and is applied once however often it is sent.',
    content: { 'application/json': { schema: schemaRef('Acknowledgement') } },
  },
  ...Object.fromEntries(
    Object.entries(errorsOfCallbacks).map(([status, meaning]) => [
      status,
      {
        description: `${meaning}. The delivery is not acknowledged.${kept[Number(status) as ErrorStatus] ?? ''}`,
        headers: headers[Number(status) as ErrorStatus],
        content: { 'application/problem+json': { schema: schemaRef('Problem') } },
      },
    ]),
  ),
};
