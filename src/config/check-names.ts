import leven from 'leven';
import type { Environment } from './config.ts';
import { type FamilyPaths, variableGroups } from './environment-schema.ts';
import { formerVariables } from './former-variables.ts';

const unknownIn = (env: Environment, families: readonly FamilyPaths[]) => {
  const known = variableGroups(families).flatMap(({ variables }) => Object.keys(variables));
  return { known, names: Object.keys(env).filter((name) => env[name] && !known.includes(name)) };
};

/** The variables of version 1 that are set, each with what to use instead. */
export const findFormer = (env: Environment, families: readonly FamilyPaths[]): string[] =>
  unknownIn(env, families).names.flatMap((name) =>
    Object.hasOwn(formerVariables, name) ? [`${name} is no variable any more: ${formerVariables[name]}`] : [],
  );

/** The variables that are none of ours and spelt nearly like one. */
export function findMisspelt(env: Environment, families: readonly FamilyPaths[]): string[] {
  const { known, names } = unknownIn(env, families);
  return names.flatMap((name) => {
    const meant = known.find((one) => leven(name.toUpperCase(), one) <= (one.length > 8 ? 2 : 1));
    return meant && !Object.hasOwn(formerVariables, name)
      ? [`${name} is no variable of the receiver: did you mean ${meant}?`]
      : [];
  });
}
