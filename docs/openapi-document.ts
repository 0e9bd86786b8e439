import { z } from 'zod';
import {
  callbackEvents,
  type Family,
  isKeyedByEnvelope,
  takesEveryEvent,
} from '../src/callbacks/families/family.ts';
import type { KindName } from '../src/callbacks/families/field.ts';
import * as client from '../src/client/index.ts';
import { familiesInFeed } from '../src/feed/read-changes.ts';
import { errorsOfCallbacks } from '../src/receiver/http/responses.ts';

/** The body of a 200. */
export const acknowledgement = z.object({
  status: z
    .enum(['accepted', 'duplicate', 'expired'])
    .describe('duplicate: received before; expired: older than its retention, and not stored'),
  id: z.uuid().describe('The same for every repetition of a callback, whatever its timestamp'),
});

/** The body of every other response (RFC 9457). */
export const problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string().optional(),
  errors: z
    .array(z.object({ path: z.string().describe('A JSON pointer'), message: z.string() }))
    .optional()
    .describe('The fields that are invalid, never their values'),
});

const pascal = (name: string) => name.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const json = (name: string) => ({ 'application/json': { schema: ref(name) } });
const errors = (meanings: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(meanings).map(([status, description]) => [
      status,
      { description, content: { 'application/problem+json': { schema: ref('Problem') } } },
    ]),
  );

/** The schemas of the interface by the names of section 2. */
const resources = {
  ProfileToRegister: client.profileRequest,
  Profile: client.profile,
  AbhaProfile: client.abhaProfile,
  ServiceIdentifier: client.serviceIdentifier,
  Drug: client.drug,
  LabTest: client.labTest,
  Subscription: client.subscription,
};

/** The titles of section 4. */
const titles: Record<string, string> = {
  verifyAadhaarOtp: 'Verify OTP',
  createAddressByMobile: 'Create health address by mobile',
  createAddressByAadhaar: 'Create health address by Aadhaar',
  searchDrugsAndLabs: 'Search drugs and laboratory tests',
};

type NamedOperation = client.Operation & { readonly name: string };

/**
 * The callbacks (`webhooks`), the platform's operations and the feed of changes (`paths`) as an OpenAPI 3.1 document, from the
 * families' files and the client's schemas (service-interface sections 2, 4, 5 and 6). It requires what the receiver requires.
 */
export function openApiDocument(families: readonly Family[], version: string) {
  const operations = Object.entries(client.operations)
    .map(([name, operation]): NamedOperation => ({ name, ...operation }))
    .filter(({ group }) => ['registration', 'search'].includes(group));
  return {
    openapi: '3.1.0',
    info: { title: 'Webhook receiver', version },
    servers: [server('base_url', 'SERVICE_BASE_URL', 'https://service.example')],
    security: [{ token: [] }],
    paths: {
      ...Object.fromEntries(
        operations.map((operation) => [
          `/${operation.path}`,
          { [operation.method.toLowerCase()]: operationOf(operation) },
        ]),
      ),
      '/changes': {
        servers: [server('public_url', 'PUBLIC_URL', 'https://receiver.example')],
        get: changes(families),
      },
    },
    webhooks: Object.fromEntries(families.map((family) => [family.name, { post: webhookOf(family) }])),
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
        changesToken: { type: 'http', scheme: 'bearer', description: 'One of CHANGES_TOKENS' },
      },
      responses: {
        200: {
          description: 'The delivery is durable, and is applied once',
          content: json('Acknowledgement'),
        },
        ...errors(errorsOfCallbacks),
      },
      schemas: schemasOf(families, operations),
    },
  };
}

const server = (name: string, description: string, example: string) => ({
  url: `{${name}}`,
  variables: { [name]: { default: example, description } },
});

function operationOf({ name, group, method, request, response }: NamedOperation): object {
  return {
    operationId: name,
    summary: titles[name],
    parameters: [
      ...(group === 'registration' ? parametersOf('header', client.registrationHeaders) : []),
      ...(method === 'GET' && request ? parametersOf('query', request) : []),
    ],
    ...(method === 'POST' && { requestBody: { required: true, content: json(`${pascal(name)}Request`) } }),
    responses: {
      200: { description: 'Success', ...(response && { content: json(`${pascal(name)}Response`) }) },
      default: { description: 'An error; the interface shows no error statuses or bodies' },
    },
  };
}

function changes(families: readonly Family[]): object {
  return {
    operationId: 'readChanges',
    summary: 'Which records have changed, and what they contain now',
    security: [{ changesToken: [] }],
    parameters: parametersOf('query', querySchema(families)),
    responses: {
      200: { description: 'A page', content: json('ChangesPage') },
      ...errors({
        400: 'A parameter is unknown or invalid',
        401: 'The token is missing or wrong',
        410: 'What follows the cursor is not known: read from the beginning',
        503: 'PostgreSQL is unavailable',
      }),
    },
  };
}

/** The callbacks of a family (service-interface section 4.5). */
function webhookOf(family: Family): object {
  const statuses = ['200', ...Object.keys(errorsOfCallbacks)];
  return {
    operationId: `receive_${family.name}`,
    summary: takesEveryEvent(family) ? 'Every event' : callbackEvents(family).join(', '),
    description: `Sent to ${family.path.default.join(' or ')}.`,
    security: [],
    parameters: [
      {
        name: 'X-Webhook-Signature',
        in: 'header',
        description: 't=<unix seconds>,v1=<hex HMAC-SHA256 of "<t>.<raw body>">; required with signing keys',
        schema: { type: 'string', pattern: '^t=[0-9]+(,v1=[0-9a-f]{64})+$' },
      },
    ],
    requestBody: { required: true, content: json(`${pascal(family.name)}Callback`) },
    responses: Object.fromEntries(
      statuses.map((status) => [status, { $ref: `#/components/responses/${status}` }]),
    ),
  };
}

/** The fields of a schema as parameters. */
function parametersOf(place: 'header' | 'query', schema: z.ZodType): object[] {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input' });
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: place,
    required: required.includes(name),
    schema: property,
  }));
}

/** Every schema by its name, as JSON Schema of its input. */
function schemasOf(
  families: readonly Family[],
  operations: readonly NamedOperation[],
): Record<string, object> {
  const named = z.registry<{ id: string }>();
  const add = (id: string, schema: z.ZodType) => named.add(schema, { id });
  add('Acknowledgement', acknowledgement);
  add('Problem', problem);
  add('ChangesPage', pageSchema(families));
  for (const { name, method, request, response } of operations) {
    if (method === 'POST' && request) add(`${pascal(name)}Request`, request);
    if (response) add(`${pascal(name)}Response`, response);
  }
  for (const [name, schema] of Object.entries(resources)) add(name, schema);
  const { schemas } = z.toJSONSchema(named, { io: 'input', uri: (id) => ref(id).$ref });
  const ofFamilies = families.flatMap((family) => [
    [`${pascal(family.name)}Callback`, callbackOf(family)],
    [`${pascal(family.name)}Data`, dataOf(family)],
  ]);
  const others = Object.entries(schemas).map(([id, { $schema, $id, ...schema }]) => [id, schema]);
  return Object.fromEntries([...ofFamilies, ...others]);
}

/** What the receiver reads as a value of each kind. Another value is kept in `extra`. */
const typesOf: Record<KindName, object> = {
  text: { type: ['string', 'number', 'null'] },
  untyped: {},
  integer: { type: ['integer', 'string', 'null'] },
  amount: { type: ['number', 'string', 'null'] },
  time: { type: ['number', 'string', 'null'] },
  name: { type: ['string', 'object', 'null'] },
  nested: {},
};
const idType = { type: ['string', 'number', 'null'] };

function callbackOf(family: Family): object {
  return {
    type: 'object',
    properties: {
      event: takesEveryEvent(family) ? { type: 'string' } : { enum: callbackEvents(family) },
      event_time: {
        type: ['number', 'string'],
        description: 'Seconds, milliseconds above 1e11, or ISO 8601',
      },
      timestamp: {},
      client_id: idType,
      business_id: idType,
      transaction_id: {},
      partition_id: {},
      data: ref(`${pascal(family.name)}Data`),
    },
    required: ['event', 'event_time', 'data', ...(isKeyedByEnvelope(family) ? [family.key] : [])],
  };
}

function dataOf({ fields, key }: Family): object {
  const own = Object.entries(fields).filter(([, { fromEnvelope }]) => !fromEnvelope);
  const properties = own.map(([name, { kind, meanings }]) => [
    name,
    { ...typesOf[kind], ...(meanings && { description: `Such as ${Object.keys(meanings).join(', ')}` }) },
  ]);
  const isRequired = own.some(([name, { alias }]) => name === key && !alias);
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(isRequired && { required: [key] }),
  };
}

/** The parameters of `GET /changes`, as src/feed/changes-route.ts reads them. */
const querySchema = (families: readonly Family[]) =>
  z.object({
    after: z.string().optional().describe('`next`, or the `cursor` of a change; without it, all records'),
    families: z
      .string()
      .optional()
      .describe(`Comma-separated, of ${familiesInFeed(families).join(', ')}`),
    business_id: z.string().max(200).optional().describe('Of one business'),
    limit: z.int().min(1).max(1_000).default(500).describe('Changes of a page'),
  });

const pageSchema = (families: readonly Family[]) =>
  z.object({
    changes: z.array(
      z.object({
        cursor: z.string().describe('What follows this change is read after it'),
        family: z.enum(familiesInFeed(families)),
        business_id: z.string(),
        id: z.string().describe('That of the record'),
        kind: z.enum(['changed', 'deleted', 'erased']),
        version: z.int().describe('Of two changes of one record the greater one is the newer'),
        changed_at: z.iso.datetime(),
        record: z
          .record(z.string(), z.unknown())
          .nullable()
          .describe('The row of the record when it is read; null where it is gone'),
      }),
    ),
    next: z.string().describe('The cursor after the page'),
    more: z.boolean().describe('Whether something may follow now'),
  });

/** As text, with a line for each schema, response, webhook and path. */
export function openApiText(document: object): string {
  const lines = (value: unknown, depth: number): string => {
    if (depth === 0 || typeof value !== 'object' || value === null || Array.isArray(value))
      return JSON.stringify(value);
    const entries = Object.entries(value).map(
      ([key, inner]) => `${JSON.stringify(key)}: ${lines(inner, depth - 1)}`,
    );
    return `{\n${entries.join(',\n')}\n}`;
  };
  return `${lines(document, 3)}\n`;
}
