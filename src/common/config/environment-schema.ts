import { z } from 'zod';
import { type FamilyPaths, variablesOf } from './variables.ts';

/** Variables that belong together. The documents are written from them, by `npm run docs`. */
export interface VariableGroup {
  title: string;
  /** In Markdown, as the descriptions, with links relative to docs. */
  intro?: string;
  /** Those with `first` are in README.md. */
  variables: Record<string, z.ZodType>;
}

export type Environment = Record<string, string | undefined>;

/** By the first variable of each group. */
const headings: Record<string, { title: string; intro?: string }> = {
  HOST: {
    title: 'Receive callbacks',
    intro:
      'The paths are those that are registered with the platform. Each variable takes one or several, comma-separated; they may ' +
      'contain an [unguessable part](security.md#unguessable-paths), such as the output of `openssl rand -hex 16`. The other ' +
      '[families](callbacks.md#families) have their documented paths.',
  },
  NODE_ENV: {
    title: 'Check senders',
    intro: 'Each [access check](security.md#access-checks) can be enabled by itself.',
  },
  DATABASE_URL: { title: 'Store data' },
  REDIS_URL: { title: 'Queue jobs' },
  BODY_LIMIT: { title: 'Set limits' },
  RETENTION: { title: 'Keep and erase data' },
  PUBLIC_URL: { title: 'Open the console' },
  LOG_LEVEL: { title: 'Observe' },
  ALERT_WEBHOOK_URL: {
    title: 'Send alerts',
    intro: '[Alerts](metrics.md#alerts) tell what the checks find.',
  },
  SERVICE_BASE_URL: {
    title: 'Call the platform',
    intro:
      'These are for the [commands of the client](client.md#commands) and the [reconciliation](reconciliation.md).',
  },
  RECONCILE: { title: 'Find what is missing' },
  CHANGES_TOKENS: { title: 'Tell others what changed' },
};

export function variableGroups(families: readonly FamilyPaths[]): VariableGroup[] {
  const groups: VariableGroup[] = [];
  for (const [name, schema] of Object.entries(variablesOf(families))) {
    const heading = headings[name];
    if (heading) groups.push({ ...heading, variables: {} });
    groups.at(-1)!.variables[name] = schema;
  }
  return groups;
}

export const environmentSchema = (families: readonly FamilyPaths[]) => z.object(variablesOf(families));

export type Variables = z.infer<ReturnType<typeof environmentSchema>>;

export const variableNames = (families: readonly FamilyPaths[]): string[] =>
  Object.keys(variablesOf(families));
