import type { Family } from '../callbacks/families/family.ts';
import { families as documented } from '../callbacks/families/index.ts';
import { familySchema } from '../callbacks/families/shape.ts';
import { InvalidModules, loadModules } from './load-modules.ts';

/** The documented families and those of a folder, in the order of its files. @throws InvalidConfiguration with each fault */
export async function loadFamilies(folder: string | undefined): Promise<readonly Family[]> {
  if (folder === undefined) return documented;
  const owners = new Map(documented.flatMap(claimsOf).map((claim) => [claim, 'the receiver']));
  const define = ['defineFamily', familySchema] as const;
  const families = await loadModules<Family>('FAMILIES', folder, define, claimsOf, owners);
  const problems = families.flatMap(({ name, fields }) =>
    Object.entries(fields).flatMap(([field, { refersTo }]) =>
      refersTo === undefined || owners.has(`the name ${refersTo}`)
        ? []
        : [`${name}: fields.${field}.refersTo is ${refersTo}, which is no family`],
    ),
  );
  if (problems.length > 0) throw new InvalidModules('FAMILIES', problems);
  return [...documented, ...families];
}

const claimsOf = ({ name, table, events, path }: Family) => [
  `the name ${name}`,
  `the table ${table}`,
  ...Object.keys(events).map((event) => `the event ${event}`),
  ...[path.default, path.variable ?? []].flat().map((name) => `the path ${name}`),
];
