import { z } from 'zod';
import { pageSchema } from '../changes/query-schema.ts';
import { envelopeSchema, type Family, otherEnvelope, takesEveryEvent } from '../families/index.ts';
import { callbackOf, dataOf, requestOf, responseOf, schemaRef } from './names.ts';
import type { ServiceInterface } from './operations.ts';
import { acknowledgement, problem } from './responses.ts';

/** Every schema of the document, by its name: the zod schemas as JSON Schema of their input. */
export function schemas(families: readonly Family[], service: ServiceInterface): Record<string, object> {
  const named = z.registry<{ id: string }>();
  const add = (id: string, schema: z.ZodType) => named.add(schema, { id });
  add('Acknowledgement', acknowledgement);
  add('Problem', problem);
  add('ChangesPage', pageSchema(families).meta({ title: 'Changes' }));
  for (const family of families) {
    add(callbackOf(family), takesEveryEvent(family) ? otherEnvelope : envelopeSchema([family]));
    add(dataOf(family), family.data);
  }
  for (const { name, summary, method, request, response } of Object.values(service.operations)) {
    if (method === 'POST') add(requestOf(name), request.meta({ title: `${summary} request` }));
    if (response) add(responseOf(name), response.meta({ title: `${summary} response` }));
  }
  for (const [name, schema] of Object.entries(service.resources)) add(name, schema);

  const generated = z.toJSONSchema(named, { io: 'input', uri: (id) => schemaRef(id).$ref });
  return Object.fromEntries(
    Object.entries(generated.schemas).map(([id, schema]) => [id, inDocument(schema)]),
  );
}

/** Without the fields that the document already implies; a union of one schema becomes that schema. */
function inDocument({ $schema, $id, ...schema }: z.core.JSONSchema.BaseSchema): object {
  const { oneOf, ...rest } = schema;
  return oneOf?.length === 1 ? { ...(oneOf[0] as object), ...rest } : schema;
}
