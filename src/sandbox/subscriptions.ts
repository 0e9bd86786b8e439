import { randomUUID } from 'node:crypto';
import { Router } from 'express';
import { z } from 'zod';
import { sendError, sendInvalid } from './faults.ts';

const subscriptionRequest = z.object({
  endpoint: z.string().min(1),
  event_names: z.array(z.string()).default([]),
  signing_key: z.string().default(''),
  protocol: z.string().default('https'),
});

/** The subscriptions: one for each endpoint, kept in memory. */
export function subscriptions(): Router {
  const byId = new Map<string, { endpoint: string; [field: string]: unknown }>();
  const router = Router();

  router.get('/', (_, response) => void response.json({ data: [...byId.values()], msg: 'success' }));

  router.post('/', ({ body }, response) => {
    const { success, data, error } = subscriptionRequest.safeParse(body);
    if (!success) return sendInvalid(response, 400, 'INVALID_REQUEST', error);
    if ([...byId.values()].some(({ endpoint }) => endpoint === data.endpoint))
      return sendError(response, 400, 'INVALID_REQUEST', 'the endpoint is registered already');
    const id = randomUUID();
    const at = new Date().toISOString();
    const client_id = 'sandbox-client';
    byId.set(id, { id, ...data, client_id, created_at: at, updated_at: at, created_by: client_id });
    response.status(201).json({ id, status: 'created' });
  });

  // No body: none is documented.
  router.delete('/:id', ({ params }, response) => {
    if (byId.delete(params.id)) return void response.status(200).end();
    sendError(response, 404, 'NOT_FOUND', 'no such subscription');
  });

  return router;
}
