import { z } from 'zod';
import type { Operation } from '../operations.ts';
import { changeSchema } from './change.ts';

/** A page of the feed of changes. */
export const changesOperation = {
  name: 'changes',
  summary: 'Read changes',
  group: 'changes',
  method: 'GET',
  path: 'changes',
  request: z.object({
    after: z.string().optional(),
    families: z.array(z.string()).min(1).readonly().transform(String).optional(),
    business_id: z.string().optional(),
    fields: z.enum(['all', 'public']).optional(),
    limit: z.int().min(1).max(1_000).optional(),
  }),
  response: z.object({ changes: z.array(changeSchema), next: z.string(), more: z.boolean() }),
  status: 200,
  repeatable: true,
} as const satisfies Operation;
