import { z } from 'zod';
import { type Operation, text } from './operation.ts';

const anyObject = z.record(z.string(), z.unknown()).nullish();

/** Section 2.6. Any field may be missing or null, but has its documented type. */
export const drug = z.object({
  id: text,
  name: text,
  manufacturer_name: text,
  product_type: text,
  generic_name: text,
  generic_id: text,
  common_name: text,
  soa: z.boolean().nullish(),
  drug_name_match: z.boolean().nullish(),
  product_sku: text,
  action_class: anyObject,
  include_suggestion: z.boolean().nullish(),
  highlighted_fields: anyObject,
  is_otc: z.boolean().nullish(),
});

/** Section 2.6. */
export const labTest = z.object({
  id: text,
  name: text,
  description: text,
  category: text,
  price: z.number().nullish(),
  preparation: text,
});

export default {
  /** Section 4.4. Retried after network errors, time-outs, 429 (respecting Retry-After) and 5xx. */
  searchDrugsAndLabs: {
    group: 'search',
    method: 'GET',
    path: 'medical-db/v1/drugs-and-labs',
    // Sections 4.4 and 8, with the documented defaults.
    request: z.strictObject({
      q: z.string().min(1).describe('Search query'),
      limit: z.int().min(1).max(100).default(10).describe('Maximum number of results'),
      s_type: z.enum(['drug', 'lab']).default('drug'),
    }),
    // Both arrays are required; which one is filled is not shown.
    response: z.object({ drugs: z.array(drug), lab_tests: z.array(labTest) }),
  },
} as const satisfies Record<string, Operation>;

export type Drug = z.output<typeof drug>;
export type LabTest = z.output<typeof labTest>;
