import { randomUUID } from 'node:crypto';
import { Router } from 'express';
import { z } from 'zod';
import { sendError } from './faults.ts';

const subscriptionRequest = z.object({
  endpoint: z.string().min(1),
  event_names: z.array(z.string()).default([]),
  signing_key: z.string().default(''),
  protocol: z.string().default('https'),
});

/** The subscriptions: one for each endpoint, kept in memory. */
export function subscriptions(): Router {
  const byId = new Map<string, { endpoint: string }>();
  const router = Router();

  router.get('/', (_, response) => void response.json({ data: [...byId.values()], msg: 'success' }));

  router.post('/', ({ body }, response) => {
    const { success, data, error } = subscriptionRequest.safeParse(body);
    if (!success) {
      const invalid = error.issues.map((i) => i.path.join('.') || 'body').join(', ');
      return sendError(response, 400, 'INVALID_REQUEST', `invalid: ${invalid}`);
    }
    if ([...byId.values()].some(({ endpoint }) => endpoint === data.endpoint)) {
      return sendError(response, 400, 'INVALID_REQUEST', 'the endpoint is registered already');
    }
    const id = randomUUID();
    const at = new Date().toISOString();
    const by = 'sandbox-client';
    const times = { created_at: at, updated_at: at };
    const subscription = { id, ...data, client_id: by, ...times, created_by: by, updated_by: by };
    byId.set(id, subscription);
    response.status(201).json({ id, status: 'created' });
  });

  // No body: none is documented.
  router.delete('/:id', ({ params }, response) => {
    if (byId.delete(params.id)) return void response.status(200).end();
    sendError(response, 404, 'NOT_FOUND', 'no such subscription');
  });

  return router;
}
