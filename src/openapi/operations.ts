import { z } from 'zod';
import { type Operation, type OperationName, operations, registrationHeaders } from '../client/index.ts';
import { requestOf, responseOf, schemaRef } from './names.ts';

const summaries: Record<OperationName, string> = {
  verifyAadhaarOtp: 'Verify OTP',
  createAddressByMobile: 'Create health address by mobile',
  createAddressByAadhaar: 'Create health address by Aadhaar',
  searchDrugsAndLabs: 'Search drugs and laboratory tests',
};

/** The service's operations (service-interface sections 4.1 to 4.4), by path. */
export function paths(): Record<string, object> {
  return Object.fromEntries(
    Object.values(operations).map((operation) => [
      `/${operation.path}`,
      {
        [operation.method.toLowerCase()]: {
          operationId: operation.name,
          summary: summaries[operation.name],
          tags: [operation.registers ? 'registration' : 'search'],
          ...requestTo(operation),
          responses: {
            200: {
              description: operation.registers
                ? 'The state of the registration; svc stands for a field whose real name is configured'
                : 'The search results',
              content: { 'application/json': { schema: schemaRef(responseOf(operation.name)) } },
            },
            default: { description: 'An error; the interface does not show its shape' },
          },
        },
      },
    ]),
  );
}

function requestTo(operation: Operation & { name: OperationName }): object {
  const headers = operation.registers ? parameters('header', registrationHeaders) : [];
  if (operation.method === 'GET') {
    return { parameters: [...headers, ...parameters('query', operation.request)] };
  }
  const body = { 'application/json': { schema: schemaRef(requestOf(operation.name)) } };
  return { parameters: headers, requestBody: { required: true, content: body } };
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
