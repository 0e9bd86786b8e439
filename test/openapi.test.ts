import { readFileSync } from 'node:fs';
import { compileErrors, validate } from '@readme/openapi-parser';
import { acknowledgement, openApiDocument, openApiText, problem } from '../docs/openapi-document.ts';
import { families } from '../src/callbacks/families/index.ts';
import { InvalidCallback } from '../src/callbacks/rejection.ts';
import { id, serve } from './support/serve.ts';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const text = openApiText(openApiDocument(families, version));

it('docs/openapi.json is what the families’ files say (otherwise: npm run docs)', () => {
  expect(readFileSync('docs/openapi.json', 'utf8')).toBe(text);
});

it('docs/openapi.json is valid OpenAPI 3.1', async () => {
  const result = await validate(JSON.parse(text));
  expect(result.valid ? [] : compileErrors(result)).toEqual([]);
  expect(result.warnings).toEqual([]);
});

it.each(['accepted', 'duplicate', 'expired'] as const)(
  'the response %s is one of the document',
  async (status) => {
    const { post } = await serve({ receive: async () => ({ status, id }) });
    expect(acknowledgement.strict().safeParse(await (await post('{}')).json()).error).toBeUndefined();
  },
);

it('the response of an error is one of the document', async () => {
  const fault = InvalidCallback.at('/data', 'is required');
  const { post } = await serve({ receive: () => Promise.reject(fault) });
  expect(problem.strict().safeParse(await (await post('{}')).json()).error).toBeUndefined();
});
