import { readFileSync } from 'node:fs';
import { compileErrors, validate } from '@readme/openapi-parser';
import { acknowledgement, openApiDocument, openApiText, problem } from '../docs/openapi-document.ts';
import { parseConfig } from '../src/config/config.ts';
import { families } from '../src/families/index.ts';
import { paths, receiptCallback } from './support/callbacks.ts';
import { post, useService } from './support/service.ts';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const { signatureHeader } = parseConfig({}, families).authentication;
const text = openApiText(openApiDocument(families, signatureHeader, version));

it('docs/openapi.json is what the schemas say (otherwise: npm run docs)', () => {
  expect(readFileSync('docs/openapi.json', 'utf8')).toBe(text);
});

it('docs/openapi.json is valid OpenAPI 3.1', async () => {
  const result = await validate(JSON.parse(text));
  expect(result.valid ? [] : compileErrors(result)).toEqual([]);
  expect(result.warnings).toEqual([]);
});

describe('a response to a callback is one of the document', () => {
  const { start } = useService();
  it.each([
    ['a callback', receiptCallback(), 200],
    ['a body that is not JSON', '{', 400],
    ['an invalid callback', { ...receiptCallback(), data: {} }, 422],
  ])('%s', async (_, body, status) => {
    const { url } = await start({ role: 'receiver' });
    const response = await post(`${url}${paths.receipt}`, body);
    expect(response.status).toBe(status);
    const schema = (status === 200 ? acknowledgement : problem).strict();
    expect(schema.safeParse(await response.json()).error).toBeUndefined();
  });
});
