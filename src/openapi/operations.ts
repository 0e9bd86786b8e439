import { z } from 'zod';
import { requestOf, responseOf, schemaRef } from './names.ts';

/** One operation of the platform, as its client calls it. */
export interface Operation {
  readonly name: string;
  readonly summary: string;
  /** A registration takes the registration headers. */
  readonly group: 'registration' | 'search' | 'subscriptions' | 'reading';
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Without a leading slash; `{field}` stands for a field of the request. */
  readonly path: string;
  readonly request: z.ZodType;
  /** Undefined: no body is documented. */
  readonly response: z.ZodType | undefined;
  readonly status: 200 | 201;
}

/** The operations of the platform, and the schemas that they share. */
export interface ServiceInterface {
  readonly operations: Readonly<Record<string, Operation>>;
  readonly registrationHeaders: z.ZodType;
  /** Named schemas that requests and responses are made of. */
  readonly resources: Readonly<Record<string, z.ZodType>>;
}

const noErrors = 'An error; the interface shows no error statuses or bodies';
const descriptions: Record<Operation['group'], { success: string; error: string }> = {
  registration: {
    success: 'The state of the registration; svc stands for a field whose real name is configured',
    error: noErrors,
  },
  search: { success: 'The results', error: noErrors },
  subscriptions: {
    success: 'Success',
    error:
      'An error. Documented are 400, with the code INVALID_REQUEST where the endpoint is registered already, 401, ' +
      '404 and 500',
  },
  reading: {
    success: 'The records',
    error:
      'An error: 400, 403, 404 or 500, with a code or only a message; rate_limit_exceeded after too many calls',
  },
};

/** The operations (service-interface sections 4.1 to 4.4, and subscriptions), by path and method. */
export function paths({ operations, registrationHeaders }: ServiceInterface): Record<string, object> {
  const byPath: Record<string, Record<string, object>> = {};
  for (const operation of Object.values(operations)) {
    const { name, summary, group, method, path, response, status } = operation;
    const headers = group === 'registration' ? parametersOf('header', registrationHeaders) : [];
    const { success, error } = descriptions[group];
    const content = { 'application/json': { schema: schemaRef(responseOf(name)) } };
    byPath[`/${path}`] ??= {};
    byPath[`/${path}`]![method.toLowerCase()] = {
      operationId: name,
      summary,
      tags: [group],
      ...inputOf(operation, headers),
      responses: {
        [status]: { description: success, ...(response ? { content } : {}) },
        default: { description: error },
      },
    };
  }
  return byPath;
}

function inputOf({ name, method, path, request }: Operation, headers: object[]): object {
  const place = (field: string) => (path.includes(`{${field}}`) ? 'path' : 'query');
  if (method !== 'POST') return { parameters: [...headers, ...parametersOf(place, request)] };
  const content = { 'application/json': { schema: schemaRef(requestOf(name)) } };
  return { parameters: headers, requestBody: { required: true, content } };
}

/** The fields of a schema as parameters. */
export function parametersOf(
  place: 'header' | ((field: string) => 'path' | 'query'),
  schema: z.ZodType,
): object[] {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input' });
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...rest } = property as z.core.JSONSchema.BaseSchema;
    return {
      name,
      in: typeof place === 'string' ? place : place(name),
      required: required.includes(name),
      ...(description ? { description } : {}),
      schema: rest,
    };
  });
}
