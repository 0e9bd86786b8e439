import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { registrations } from './registrations.ts';

const events = Object.values(registrations).flatMap((registration) => registration.events);
const files = {
  'sandbox/registrations.json': JSON.stringify(registrations),
  'client/event-names.ts': `// Generated from src/receiver/families: npm run docs.

    /** The documented events. The platform adds others, so that requests may name any. */
    export const eventNames = ${JSON.stringify(events)} as const;`,
};
for (const [name, text] of Object.entries(files)) {
  const file = join(import.meta.dirname, '../src', name);
  writeFileSync(file, text);
  execFileSync('npx', ['biome', 'format', '--write', file]);
}
