import { z } from 'zod';
import { schemaRef } from './names.ts';

/** What a 200 says. */
export const acknowledgement = z
  .object({
    status: z.enum(['accepted', 'duplicate']).describe('duplicate: a delivery that is held already'),
    id: z.uuid().describe('The same for every repetition of a callback, whatever its timestamp says'),
  })
  .meta({ title: 'The delivery is durable' });

/** What every other answer says (RFC 9457). */
export const problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string().optional(),
    errors: z
      .array(z.object({ path: z.string().describe('A JSON pointer'), message: z.string() }))
      .optional()
      .describe('What does not fit, never what stood there'),
  })
  .meta({ title: 'Problem' });

const text = { type: 'string' };
const seconds = { type: 'integer', minimum: 0 };
const retryAfter = { 'Retry-After': { description: 'Seconds to wait', required: true, schema: seconds } };

const problems: [status: number, description: string, headers?: object][] = [
  [400, 'Not JSON in UTF-8'],
  [401, 'The signature is missing, wrong or stale'],
  [403, 'The address, the client or the business is not allowed'],
  [404, 'Nothing is served at this address'],
  [405, 'Not a POST', { Allow: { description: 'POST', required: true, schema: text } }],
  [413, 'The body is larger than the receiver takes'],
  [415, 'Not application/json, or compressed'],
  [
    422,
    'Not a callback, or one of another address; it is kept, and taken in later if it turns out to be right',
  ],
  [429, 'Too many requests', retryAfter],
  [503, 'No store can hold the delivery now, or too many large bodies are under way', retryAfter],
];

/** The receiver's answers to a callback. The interface shows none (section 6): these are the receiver's own. */
export function callbackAnswers(): Record<string, object> {
  const refusals = problems.map(([status, description, headers]) => [
    status,
    {
      description: `${description}. The delivery is not acknowledged.`,
      ...(headers ? { headers } : {}),
      content: { 'application/problem+json': { schema: schemaRef('Problem') } },
    },
  ]);
  return {
    200: {
      description: 'The delivery is durable, and will be applied once however often it is sent.',
      content: { 'application/json': { schema: schemaRef('Acknowledgement') } },
    },
    ...Object.fromEntries(refusals),
  };
}
