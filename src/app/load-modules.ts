import { readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { z } from 'zod';
import { InvalidConfiguration } from '../common/config/config.ts';

/** The faults of modules of one's own, each with its file. */
export class InvalidModules extends InvalidConfiguration {
  constructor(variable: string, problems: string[]) {
    super(problems.map((problem) => `${variable} ${problem}`));
  }
}

/**
 * Imports the modules of a folder.
 *
 * @param define the function that makes what they export as default
 * @param namesOf what only one module may have, such as `the name x`
 * @param owners of names that are taken; it gets those of the modules
 * @returns what they export, in the order of their files. @throws InvalidModules with each fault
 */
export async function loadModules<T>(
  variable: string,
  folder: string,
  [define, schema]: readonly [define: string, schema: z.ZodType],
  namesOf: (module: T) => readonly string[],
  owners = new Map<string, string>(),
): Promise<T[]> {
  const files = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    throw new InvalidModules(variable, [`must be a folder that can be read: ${folder} (${error.code})`]);
  });
  const modules = files.filter((file) => /(?<!\.d)\.(m?js|ts)$/.test(file)).sort();
  if (modules.length === 0)
    throw new InvalidModules(variable, [`must have a *.js, *.mjs or *.ts in ${folder}`]);
  const loaded: T[] = [];
  const problems: string[] = [];
  for (const file of modules)
    try {
      const module = (await read(resolve(folder, file), define, schema)) as T;
      for (const name of namesOf(module)) {
        const owner = owners.get(name);
        if (owner) problems.push(`${file}: ${name} is already that of ${owner}: choose another`);
        else owners.set(name, file);
      }
      loaded.push(module);
    } catch (error) {
      problems.push(...(error as Error).message.split('\n').map((line) => `${file}: ${line}`));
    }
  if (problems.length > 0) throw new InvalidModules(variable, problems);
  return loaded;
}

async function read(file: string, define: string, schema: z.ZodType): Promise<unknown> {
  // The path of its URL: a file's name may have characters that mean something else there.
  const imported: { default?: unknown } = await import(pathToFileURL(file).pathname).catch((error) => {
    // The message, and mostly the place of the fault.
    throw new Error(`cannot be imported: ${error.stack.split('\n').slice(0, 2).join('')}`);
  });
  if (imported.default === undefined) throw new Error(`must have \`export default ${define}({ … })\``);
  const { error } = schema.safeParse(imported.default);
  if (!error) return imported.default;
  const faults = error.issues.map((issue) => {
    // The issue of a key says only that it is none.
    const { message } = issue.code === 'invalid_key' ? issue.issues[0]! : issue;
    return `${issue.path.join('.')} ${message}`.trim();
  });
  throw new Error(faults.join('\n'));
}
