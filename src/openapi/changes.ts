import { querySchema } from '../changes/query-schema.ts';
import type { Family } from '../families/index.ts';
import { schemaRef } from './names.ts';
import { parametersOf } from './operations.ts';

const errors = {
  400: 'A parameter is unknown or invalid',
  401: 'The token is missing or wrong',
  410: 'What follows the cursor is not known: read from the beginning',
  429: 'Too many wrong tokens from the address',
  503: 'The feed is not open yet, or PostgreSQL is unavailable',
};

/** The receiver's own operation: the feed of changes. */
export const changesPath = (families: readonly Family[]) => ({
  servers: [
    {
      url: '{public_url}',
      description: 'The receiver',
      variables: { public_url: { default: 'https://receiver.example', description: 'PUBLIC_URL' } },
    },
  ],
  get: {
    operationId: 'readChanges',
    summary: 'Read changes',
    description: 'Which records have changed, and what they contain now. See docs/changes.md.',
    tags: ['changes'],
    security: [{ changesToken: [] }],
    parameters: parametersOf(() => 'query', querySchema(families)),
    responses: {
      200: {
        description: 'A page',
        content: { 'application/json': { schema: schemaRef('ChangesPage') } },
      },
      ...Object.fromEntries(
        Object.entries(errors).map(([status, description]) => [
          status,
          { description, content: { 'application/problem+json': { schema: schemaRef('Problem') } } },
        ]),
      ),
    },
  },
});
