import { z } from 'zod';

const mostPerPage = 1_000;

/** The parameters of a request for changes. Unknown ones are errors: a selection that is misspelt would read everything. */
export const querySchema = (families: readonly string[]) =>
  z.strictObject({
    after: z
      .string()
      .min(1)
      .max(2_000)
      .optional()
      .describe(
        '`next`, or the `cursor` of a change. Without it: from the beginning, that is, all records once',
      ),
    families: z
      .string()
      .default('')
      .transform((text) => text.split(',').filter(Boolean))
      .pipe(z.array(z.enum(families as [string, ...string[]])))
      .describe(`Comma-separated, of ${families.join(', ')}; without it, all`),
    business_id: z.string().max(200).optional().describe('Of one business'),
    limit: z.coerce.number().int().min(1).max(mostPerPage).default(500).describe('Changes of a page'),
    fields: z.enum(['all', 'public']).default('all').describe('public: without personal columns'),
  });

/** A page of changes, as it is sent. */
export const pageSchema = (families: readonly string[]) =>
  z.object({
    changes: z.array(
      z.object({
        cursor: z.string().describe('What follows this change is read after it'),
        family: z.enum(families as [string, ...string[]]),
        business_id: z.string(),
        id: z.string().describe('That of the record; of a health account, a pseudonym'),
        kind: z.enum(['changed', 'deleted', 'erased']),
        event: z.string().nullable().describe("The record's last event; null where it is gone"),
        version: z.int().describe('Of two changes of one record the greater one is the newer'),
        changed_at: z.iso.datetime().nullable(),
        record: z
          .record(z.string(), z.unknown())
          .nullable()
          .describe('The record when it is read, with the columns of its report; null where it is gone'),
      }),
    ),
    next: z.string().describe('The cursor after the page'),
    more: z.boolean().describe('Whether something may follow now'),
  });
