import type { Family } from '../callbacks/families/family.ts';
import { type Handler, handlerSchema } from '../feed/handler.ts';
import { familiesInFeed } from '../feed/read-changes.ts';
import { InvalidModules, loadModules } from './load-modules.ts';

/** The functions of a folder that are called for changes. @throws InvalidConfiguration with each fault */
export async function loadHandlers(folder: string, families: readonly Family[]): Promise<Handler[]> {
  const schema = handlerSchema(familiesInFeed(families));
  const { loaded, problems } = await loadModules<Handler>('HANDLERS', folder, 'defineHandler', schema);
  const owners = new Map<string, string>();
  for (const [file, { name }] of loaded) {
    const owner = owners.get(name);
    if (owner) problems.push(`${file}: the name ${name} is already that of ${owner}: choose another`);
    else owners.set(name, file);
  }
  if (problems.length > 0) throw new InvalidModules('HANDLERS', problems);
  return [...loaded.values()];
}
