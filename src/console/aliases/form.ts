import { aliasKinds, findAliasFault } from '../../store/aliases.ts';
import { BadInput } from '../errors.ts';
import { oneOf, parseForm, readForm, text } from '../read-form.ts';

/** Which ids to show; absent fields do not filter. */
export type IdFilter = ReturnType<typeof parseFilter>['data'];

/** Parses the filter in an address. */
export const parseFilter = (query: Record<string, unknown>) =>
  parseForm(query, { kind: oneOf(aliasKinds), text });

/**
 * Reads a change of an alias, and the query of the page that it was made on.
 *
 * @throws BadInput
 */
export function readAlias(form: Record<string, unknown>) {
  const fields = { kind: oneOf(aliasKinds), id: text, alias: text, filter: text };
  const { kind, id = '', alias = '', filter } = readForm(form, fields).data;
  const fault = kind ? findAliasFault(id, alias) : 'the kind is missing';
  if (!kind || fault) throw new BadInput(`Not saved: ${fault}.`);
  return { change: { kind, id, alias }, filter: new URLSearchParams(filter) };
}
