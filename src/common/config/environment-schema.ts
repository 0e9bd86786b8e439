import { z } from 'zod';
import type { FamilyPaths } from './variables.ts';
import * as variables from './variables.ts';

/** Variables that belong together. The documents are written from them, by `npm run docs`. */
export interface VariableGroup {
  title: string;
  /** In Markdown, as the descriptions, with links relative to docs. */
  intro?: string;
  /** Those with `first` are in README.md. */
  variables: Record<string, z.ZodType>;
}

export type Environment = Record<string, string | undefined>;

export const variableGroups = (families: readonly FamilyPaths[]): VariableGroup[] => [
  {
    title: 'Receive callbacks',
    intro:
      'The paths are those that are registered with the platform. Each variable takes one or several, comma-separated; they may ' +
      'contain an [unguessable part](security.md#unguessable-paths), such as the output of `openssl rand -hex 16`. The other ' +
      '[families](callbacks.md#families) have their documented paths.',
    variables: { ...variables.receive, ...variables.pathsOf(families), ...variables.ownFamilies },
  },
  {
    title: 'Check senders',
    intro: 'Each [access check](security.md#access-checks) can be enabled by itself.',
    variables: variables.checkSenders,
  },
  { title: 'Store data', variables: variables.store },
  { title: 'Queue jobs', variables: variables.queue },
  { title: 'Set limits', variables: variables.limits },
  { title: 'Keep and erase data', variables: variables.privacy(families) },
  { title: 'Open the console', variables: variables.consoleAndSignIn },
  { title: 'Observe', variables: variables.observe },
  {
    title: 'Send alerts',
    intro: '[Alerts](metrics.md#alerts) tell what the checks find.',
    variables: variables.alerts,
  },
  {
    title: 'Call the platform',
    intro:
      'These are for the [commands of the client](client.md#commands) and the [reconciliation](reconciliation.md).',
    variables: variables.client,
  },
  { title: 'Find what is missing', variables: variables.reconciliation },
  { title: 'Tell others what changed', variables: variables.changes },
];

export const environmentSchema = (families: readonly FamilyPaths[]) =>
  z.object({
    ...variables.checkSenders,
    ...variables.receive,
    ...variables.ownFamilies,
    ...variables.store,
    ...variables.queue,
    ...variables.limits,
    ...variables.privacy(families),
    ...variables.consoleAndSignIn,
    ...variables.observe,
    ...variables.alerts,
    ...variables.client,
    ...variables.reconciliation,
    ...variables.changes,
    ...variables.pathsOf(families),
  });

export type Variables = z.infer<ReturnType<typeof environmentSchema>>;

export const variableNames = (families: readonly FamilyPaths[]): string[] =>
  Object.keys(environmentSchema(families).shape);
