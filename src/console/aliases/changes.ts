import { type AliasKind, findAliasFault, isAliasKind, type SeenChange } from '../../store/aliases.ts';
import { BadInput } from '../errors.ts';

/** The fields of an id: its name, and the name that the page showed. */
export const fieldOf = (part: 'name' | 'was', kind: AliasKind, id: string) => `${part}:${kind}:${id}`;

/**
 * The names that differ from what the page showed, and that of another id.
 *
 * @throws BadInput, which names the id with a fault
 */
export function readChanges(body: Readonly<Record<string, unknown>>): SeenChange[] {
  const given = Object.keys(body).flatMap((field) => {
    const [, kind, id = ''] = /^name:(\w+):(.*)$/s.exec(field) ?? [];
    return isAliasKind(kind)
      ? [{ kind, id, alias: textIn(body, field), was: textIn(body, fieldOf('was', kind, id)) }]
      : [];
  });
  const { kind } = body;
  const other = { id: textIn(body, 'id'), alias: textIn(body, 'alias'), was: '' };
  if (other.id || other.alias) {
    if (!isAliasKind(kind)) throw new BadInput('Not saved: the kind is missing.');
    given.push({ kind, ...other });
  }
  const changes = given.filter(({ alias, was }) => alias !== was);
  for (const { kind, id, alias } of changes) {
    const fault = findAliasFault(id, alias);
    if (fault) throw new BadInput(`Nothing was saved: of ${kind} ${id}, ${fault}.`);
  }
  return changes;
}

const textIn = (body: Readonly<Record<string, unknown>>, field: string) => {
  const value = body[field];
  return typeof value === 'string' ? value.trim() : '';
};
