import type { Feature } from '../feature.ts';
import { addCallbackCommands } from './commands.ts';

/** What reads callbacks, and receives or merges them again: search, records, deliveries, the quarantine. */
export const callbacks: Feature = { name: 'callbacks', commands: addCallbackCommands };
