import { z } from 'zod';
import { requestOf, responseOf, schemaRef } from './names.ts';

/** One operation of the service, as its client calls it. */
export interface Operation {
  readonly name: string;
  readonly summary: string;
  readonly method: 'GET' | 'POST';
  /** Without a leading slash. */
  readonly path: string;
  readonly request: z.ZodType;
  readonly response: z.ZodType;
  /** Whether it belongs to a registration and takes its headers. */
  readonly registers: boolean;
}

/** The operations of the service, and the schemas that they share. */
export interface ServiceInterface {
  readonly operations: Readonly<Record<string, Operation>>;
  readonly registrationHeaders: z.ZodType;
  /** Named schemas that requests and responses are made of. */
  readonly resources: Readonly<Record<string, z.ZodType>>;
}

/** The operations (service-interface sections 4.1 to 4.4), by path. */
export function paths({ operations, registrationHeaders }: ServiceInterface): Record<string, object> {
  return Object.fromEntries(
    Object.values(operations).map((operation) => {
      const { name, summary, method, path, registers } = operation;
      const headers = registers ? parameters('header', registrationHeaders) : [];
      const described = {
        operationId: name,
        summary,
        tags: [registers ? 'registration' : 'search'],
        ...inputOf(operation, headers),
        responses: {
          200: {
            description: registers
              ? 'The state of the registration; svc stands for a field whose real name is configured'
              : 'The results',
            content: { 'application/json': { schema: schemaRef(responseOf(name)) } },
          },
          default: { description: 'An error; the interface shows no error statuses or bodies' },
        },
      };
      return [`/${path}`, { [method.toLowerCase()]: described }];
    }),
  );
}

function inputOf({ name, method, request }: Operation, headers: object[]): object {
  if (method === 'GET') return { parameters: [...headers, ...parameters('query', request)] };
  const content = { 'application/json': { schema: schemaRef(requestOf(name)) } };
  return { parameters: headers, requestBody: { required: true, content } };
}

/** The fields of a schema as parameters. */
function parameters(place: 'header' | 'query', schema: z.ZodType): object[] {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input' });
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...rest } = property as z.core.JSONSchema.BaseSchema;
    return {
      name,
      in: place,
      required: required.includes(name),
      ...(description ? { description } : {}),
      schema: rest,
    };
  });
}
