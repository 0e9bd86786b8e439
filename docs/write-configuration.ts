import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { families } from '../src/callbacks/families/index.ts';
import { configurationDocuments } from './configuration-documents.ts';

const at = (path: string) => join(import.meta.dirname, '..', path);
const documents = configurationDocuments(families, (path) => readFileSync(at(path), 'utf8'));
for (const [path, text] of Object.entries(documents)) writeFileSync(at(path), text);
