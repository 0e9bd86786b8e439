import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as service from '../src/client/index.ts';
import { parseConfig } from '../src/config/config.ts';
import { families } from '../src/families/index.ts';
import { openApiDocument } from '../src/openapi/document.ts';
import './write-registrations.ts';

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8'));
const { signatureHeader } = parseConfig({}, families).authentication;
const document = openApiDocument({ families, service, signatureHeader, version });
writeFileSync(join(import.meta.dirname, 'openapi.json'), `${JSON.stringify(document, null, 2)}\n`);
