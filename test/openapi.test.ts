import { readFileSync } from 'node:fs';
import { compileErrors, validate } from '@readme/openapi-parser';
import { openApiDocument, openApiText } from '../docs/openapi-document.ts';
import { families } from '../src/callbacks/families/index.ts';

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
