import { readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Family } from '../callbacks/families/family.ts';
import { families as documented } from '../callbacks/families/index.ts';
import { familySchema } from '../callbacks/families/shape.ts';
import { InvalidConfiguration } from '../common/config/config.ts';

const invalid = (...problems: string[]) =>
  new InvalidConfiguration(problems.map((problem) => `FAMILIES ${problem}`));

/** The documented families and those of a folder, in the order of its files. @throws InvalidConfiguration with each fault */
export async function loadFamilies(folder: string | undefined): Promise<readonly Family[]> {
  if (folder === undefined) return documented;
  const files = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    throw invalid(`must be a folder that can be read: ${folder} (${error.code})`);
  });
  const modules = files.filter((file) => /(?<!\.d)\.(m?js|ts)$/.test(file)).sort();
  if (modules.length === 0) throw invalid(`must have a *.js, *.mjs or *.ts in ${folder}`);
  const problems: string[] = [];
  const sources = new Map<Family, string>(documented.map((family) => [family, 'the receiver']));
  const owners = new Map(documented.flatMap(claimsOf).map((claim) => [claim, 'the receiver']));
  for (const file of modules)
    try {
      const family = await read(resolve(folder, file));
      sources.set(family, file);
      for (const claim of claimsOf(family)) {
        const owner = owners.get(claim);
        if (owner) problems.push(`${file}: ${claim} is already that of ${owner}: choose another`);
        else owners.set(claim, file);
      }
    } catch (error) {
      problems.push(...(error as Error).message.split('\n').map((line) => `${file}: ${line}`));
    }
  for (const [{ fields }, file] of sources)
    for (const [field, { refersTo }] of Object.entries(fields as Family['fields']))
      if (refersTo !== undefined && !owners.has(`the name ${refersTo}`))
        problems.push(`${file}: fields.${field}.refersTo is ${refersTo}, which is no family`);
  if (problems.length > 0) throw invalid(...problems);
  return [...sources.keys()];
}

/** Names that only one family may have. */
const claimsOf = ({ name, table, events, path }: Family) => [
  `the name ${name}`,
  `the table ${table}`,
  ...Object.keys(events).map((event) => `the event ${event}`),
  ...[path.default, path.variable ?? []].flat().map((name) => `the path ${name}`),
];

/** @throws Error with a line for each fault */
async function read(file: string): Promise<Family> {
  // The path of its URL: a file's name may have characters that mean something else there.
  const imported: { default?: unknown } = await import(pathToFileURL(file).pathname).catch((error) => {
    if (error.code !== 'ERR_UNKNOWN_FILE_EXTENSION')
      throw new Error(`cannot be imported: ${error.message.split('\n')[0]}`);
    throw new Error('this version of Node.js imports no TypeScript: compile it to JavaScript');
  });
  if (imported.default === undefined) throw new Error('must have `export default defineFamily({ … })`');
  const { error } = familySchema.safeParse(imported.default);
  if (!error) return imported.default as Family;
  const faults = error.issues.map((issue) => {
    // The issue of a key says only that it is none.
    const { message } = issue.code === 'invalid_key' ? issue.issues[0]! : issue;
    return `${issue.path.join('.')} ${message}`.trim();
  });
  throw new Error(faults.join('\n'));
}
