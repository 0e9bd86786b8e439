import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseConfig } from '../src/config/config.ts';
import { families } from '../src/families/index.ts';
import { openApiDocument, openApiText } from './openapi-document.ts';
import './write-registrations.ts';

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8'));
const { signatureHeader } = parseConfig({}, families).authentication;
const text = openApiText(openApiDocument(families, signatureHeader, version));
writeFileSync(join(import.meta.dirname, 'openapi.json'), text);
