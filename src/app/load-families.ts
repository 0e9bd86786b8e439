import type { Family } from '../callbacks/families/family.ts';
import { families as documented } from '../callbacks/families/index.ts';
import { familySchema } from '../callbacks/families/shape.ts';
import { InvalidModules, loadModules } from './load-modules.ts';

/** The documented families and those of a folder, in the order of its files. @throws InvalidConfiguration with each fault */
export async function loadFamilies(folder: string | undefined): Promise<readonly Family[]> {
  if (folder === undefined) return documented;
  const { loaded, problems } = await loadModules<Family>('FAMILIES', folder, 'defineFamily', familySchema);
  const owners = new Map(documented.flatMap(claimsOf).map((claim) => [claim, 'the receiver']));
  for (const [file, family] of loaded)
    for (const claim of claimsOf(family)) {
      const owner = owners.get(claim);
      if (owner) problems.push(`${file}: ${claim} is already that of ${owner}: choose another`);
      else owners.set(claim, file);
    }
  for (const [file, { fields }] of loaded)
    for (const [field, { refersTo }] of Object.entries(fields))
      if (refersTo !== undefined && !owners.has(`the name ${refersTo}`))
        problems.push(`${file}: fields.${field}.refersTo is ${refersTo}, which is no family`);
  if (problems.length > 0) throw new InvalidModules('FAMILIES', problems);
  return [...documented, ...loaded.values()];
}

/** Names that only one family may have. */
const claimsOf = ({ name, table, events, path }: Family) => [
  `the name ${name}`,
  `the table ${table}`,
  ...Object.keys(events).map((event) => `the event ${event}`),
  ...[path.default, path.variable ?? []].flat().map((name) => `the path ${name}`),
];
