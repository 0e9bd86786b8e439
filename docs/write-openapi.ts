import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { families } from '../src/callbacks/families/index.ts';
import { openApiDocument, openApiText } from './openapi-document.ts';

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8'));
const text = openApiText(openApiDocument(families, version));
writeFileSync(join(import.meta.dirname, 'openapi.json'), text);
