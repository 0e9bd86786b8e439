import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { families } from '../src/families/index.ts';
import { versionOrderFile } from '../src/families/version-order.ts';

writeFileSync(join(import.meta.dirname, '../db/reporting/0_version_order.sql'), versionOrderFile(families));
