import { readFile } from 'node:fs/promises';
import { parseEnv } from 'node:util';
import { InvalidConfiguration } from './config.ts';
import { type Environment, type FamilyPaths, variableNames } from './variables.ts';

/** A blank line, a comment, or `NAME=value` on one line. A comment behind a value needs a blank before it. */
const assignment =
  /^[ \t]*(?:#.*|(?:export[ \t]+)?([\w.-]+)[ \t]*=(?:\s*(?:"[^"]*"|'[^']*'|`[^`]*`)\s*(?:#.*)?|(?!\s*["'`])[^#\0]*(?:(?<=\s)#.*)?))?$/;
const isQuoted = (text: string) => /^["'`“‘].*["'`”’]$/s.test(text.trim());

/**
 * The variables of both, and of the files that `<NAME>_FILE` names, trimmed, without empty ones. `env` gets those of `.env`, for
 * libraries.
 *
 * @throws InvalidConfiguration
 */
export async function readEnvironment(env: Environment, families: readonly FamilyPaths[], file = '.env') {
  const ours = variableNames(families);
  const problems: string[] = [];
  const places = new Map<string, string>();
  for (const [at, line] of (await read(file)).split(/\r?\n|\r/).entries()) {
    const place = `${file}:${at + 1}`;
    const [isRead, name] = assignment.exec(line) ?? [];
    if (isRead === undefined) problems.push(`${place} must be NAME=value, in quotes if it has # or quotes`);
    if (!name) continue;
    if (places.has(name)) problems.push(`${place} sets ${name} again: remove it, or ${places.get(name)}`);
    places.set(name, place);
    if (!env[name]?.trim()) env[name] = Object.values(parseEnv(line))[0];
  }
  const values = Object.entries(env).map(([name, value = '']) => [name, value.trim()] as const);
  for (const name of ours) {
    const path = env[`${name}_FILE`]?.trim();
    if (!path) continue;
    if (env[name]?.trim()) problems.push(`${name} and ${name}_FILE are both set: remove one`);
    const content = await readFile(path, 'utf8').catch(({ code }) => {
      problems.push(`${name}_FILE must name a file that can be read (${code})`);
    });
    if (content?.trim() === '') problems.push(`${name}_FILE names an empty file`);
    values.push([name, content?.trim() ?? '']);
  }
  for (const [name, value] of values)
    if (ours.includes(name) && [value, ...value.split(',')].some(isQuoted))
      problems.push(`${name} must have no quotes around its value`);
  if (problems.length > 0) throw new InvalidConfiguration(problems);
  return Object.fromEntries(values.filter(([, value]) => value));
}

async function read(file: string): Promise<string> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return '';
    throw new InvalidConfiguration([`${file}:1 must be a readable text file in UTF-8 (${code})`]);
  }
}
