import { z } from 'zod';
import type { Family } from '../families/index.ts';
import { familiesInFeed } from './families.ts';

const mostPerPage = 1_000;

const namesOf = (families: readonly Family[]) =>
  familiesInFeed(families).map(({ name }) => name) as [string, ...string[]];

/** The parameters of a request for changes. Unknown ones are errors: a selection that is misspelt would read everything. */
export const querySchema = (families: readonly Family[]) =>
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
      .pipe(z.array(z.enum(namesOf(families))))
      .describe(`Comma-separated, of ${namesOf(families).join(', ')}; without it, all`),
    business_id: z.string().max(200).optional().describe('Of one business'),
    limit: z.coerce.number().int().min(1).max(mostPerPage).default(500).describe('Changes of a page'),
  });

/** A page of changes, as it is sent. */
export const pageSchema = (families: readonly Family[]) =>
  z.object({
    changes: z.array(
      z.object({
        cursor: z.string().describe('What follows this change is read after it'),
        family: z.enum(namesOf(families)),
        business_id: z.string(),
        id: z.string().describe('That of the record'),
        kind: z.enum(['changed', 'deleted', 'erased']),
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
