import { z } from 'zod';
import type { FamilyPaths } from './variables.ts';
import * as variables from './variables.ts';

/** Variables that belong together. The documents are written from them, by `npm run docs`. */
export interface VariableGroup {
  /** The task. */
  title: string;
  /** In Markdown, with links relative to docs. */
  intro?: string;
  /** Each has a default and a description, in Markdown as well; `first` ones are in README.md. */
  variables: Record<string, z.ZodType>;
}

export type Environment = Record<string, string | undefined>;

/** All variables, by task. */
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

/** The environment variables of the receiver, each with its default and its error messages. */
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

/** The values of valid variables. */
export type Variables = z.infer<ReturnType<typeof environmentSchema>>;

/** The names of all variables. */
export const variableNames = (families: readonly FamilyPaths[]): string[] =>
  Object.keys(environmentSchema(families).shape);
