import { findMisspelt } from '../config/check-names.ts';
import { type Environment, InvalidConfiguration, parseConfig } from '../config/config.ts';
import { environmentSchema } from '../config/environment-schema.ts';
import { formerVariables } from '../config/former-variables.ts';
import { families } from '../families/index.ts';
import type { Check, Subject } from './finding.ts';

const known = [...Object.keys(environmentSchema(families).shape), ...Object.keys(formerVariables)];

/**
 * Parses the environment, and again without its invalid variables, so that a fault hides neither another one nor what
 * the other variables lead to.
 */
export function readConfiguration(env: Environment): Pick<Subject, 'config' | 'problems' | 'invalid'> {
  const problems: string[] = [];
  const invalid = new Set<string>();
  let rest: Environment = env;
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
      } else if (rest.NODE_ENV) {
        rest = { ...rest, NODE_ENV: undefined };
      } else {
        throw error; // nothing is left to remove
      }
    }
  }
}

const wordsOf = (text: string) => new Set(text.split(/\W+/));

export const checkConfiguration: Check = ({ env, config, problems, invalid }, report) => {
  for (const problem of problems) report('fail', 'configuration', problem);
  for (const line of findMisspelt(env, families)) report('warn', 'configuration', line);
  const mode = config.production ? 'NODE_ENV is production' : 'NODE_ENV is not production';
  if (problems.length === 0)
    report('ok', 'configuration', `each variable is valid; ${mode}; ROLE is ${config.role}`);
  const isOpen = config.adminToken ?? config.oidc ?? invalid.has('ADMIN_TOKEN');
  if (config.databaseUrl && config.role !== 'worker' && !isOpen) {
    const what = config.metricsToken ? 'the console is not' : 'neither the console nor /metrics is';
    report('warn', 'console', `${what} served. Set ADMIN_TOKEN to a random text`);
  }
};
