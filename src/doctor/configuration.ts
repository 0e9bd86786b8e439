import { type Environment, InvalidConfiguration, parseConfig } from '../config.ts';
import { environmentSchema } from '../environment-schema.ts';
import { families } from '../families/index.ts';
import type { Check, Subject } from './finding.ts';

const known = Object.keys(environmentSchema(families).shape);

/**
 * Parses the environment, and again without its invalid variables, so that a fault hides neither another one nor what
 * the other variables lead to.
 */
export function readConfiguration(env: Environment): Pick<Subject, 'config' | 'problems' | 'invalid'> {
  const problems: string[] = [];
  const invalid = new Set<string>();
  let rest = env;
  for (;;) {
    try {
      return { config: parseConfig(rest, families), problems, invalid };
    } catch (error) {
      if (!(error instanceof InvalidConfiguration)) throw error;
      const names = (text: string) => known.filter((name) => wordsOf(text).has(name));
      // The rest is of what was removed before, such as production without an access check.
      const found = error.problems.filter((text) => !names(text).some((name) => invalid.has(name)));
      problems.push(...found);
      for (const name of found.flatMap(names)) invalid.add(name);
      const named = error.problems.flatMap(names);
      if (named.some((name) => rest[name] !== undefined)) {
        rest = { ...rest, ...Object.fromEntries(named.map((name) => [name, undefined])) };
      } else if (rest.ALLOW_UNAUTHENTICATED !== 'true') {
        rest = { ...rest, ALLOW_UNAUTHENTICATED: 'true' };
      } else {
        throw error; // nothing is left to remove
      }
    }
  }
}

const wordsOf = (text: string) => new Set(text.split(/\W+/));

export const checkConfiguration: Check = ({ env, config, problems, invalid }, report) => {
  for (const problem of problems) report('fail', 'configuration', problem);
  for (const [name, meant] of findMisspelt(env)) {
    report('warn', 'configuration', `${name} is no variable of the service. Rename it if ${meant} is meant`);
  }
  const mode = config.production ? 'NODE_ENV is production' : 'NODE_ENV is not production';
  if (problems.length === 0)
    report('ok', 'configuration', `each variable is valid; ${mode}; ROLE is ${config.role}`);
  const isOpen = config.adminToken ?? config.oidc ?? invalid.has('ADMIN_TOKEN');
  if (config.databaseUrl && config.role !== 'worker' && !isOpen) {
    report('warn', 'console', 'neither the console nor /metrics is served. Set ADMIN_TOKEN to a random text');
  }
};

/** The variables that are none of ours, each with the one of ours that is spelt nearly like it. */
export function findMisspelt(env: Environment): [name: string, meant: string][] {
  const others = Object.keys(env).filter((name) => !known.includes(name));
  return others.flatMap((name) => {
    // Variables of other programs are as near to short names such as PORT.
    const isNear = (own: string) => own.length > 6 && !env[own] && differingLetters(name, own) < 3;
    return known
      .filter(isNear)
      .slice(0, 1)
      .map((meant): [string, string] => [name, meant]);
  });
}

/** How many letters are missing, additional or others, in whatever order. */
function differingLetters(a: string, b: string): number {
  const rest = [...b];
  const additional = [...a].filter((letter) => {
    const at = rest.indexOf(letter);
    if (at >= 0) rest.splice(at, 1);
    return at < 0;
  });
  return Math.max(additional.length, rest.length);
}
