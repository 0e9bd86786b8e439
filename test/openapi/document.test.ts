import { readFileSync } from 'node:fs';
import { compileErrors, validate } from '@readme/openapi-parser';
import { Ajv2020 } from 'ajv/dist/2020.js';
import * as service from '../../src/client/index.ts';
import { parseConfig } from '../../src/config/config.ts';
import { families } from '../../src/families/index.ts';
import { openApiDocument } from '../../src/openapi/document.ts';
import { useConsole } from '../console/use-console.ts';
import {
  consentFormCallback,
  paths,
  receiptCallback,
  receiptData,
  reviewRequestCallback,
} from '../support/callbacks.ts';
import { post } from '../support/service.ts';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const { signatureHeader } = parseConfig({}, families).authentication;
const document = JSON.parse(JSON.stringify(openApiDocument({ families, service, signatureHeader, version })));
const checkedIn = JSON.parse(readFileSync('docs/openapi.json', 'utf8'));

const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema(document, 'openapi');
const matches = (schema: string, value: unknown) =>
  ajv.validate({ $ref: `openapi#/components/schemas/${schema}` }, value);

it('docs/openapi.json is the generated document (otherwise: npm run docs)', () => {
  expect(checkedIn).toEqual(document);
});

it('is valid OpenAPI 3.1', async () => {
  const result = await validate(structuredClone(document));
  expect(result.valid ? [] : compileErrors(result)).toEqual([]);
  expect(result.warnings).toEqual([]);
});

it('has every operation of the client and every event family', () => {
  const called = Object.entries<Record<string, { operationId?: string }>>(document.paths).flatMap(
    ([path, methods]) =>
      Object.entries(methods).flatMap(([method, { operationId }]) =>
        operationId ? [[operationId, method, path]] : [],
      ),
  );
  expect(called).toEqual([
    ...Object.values(service.operations).map(({ name, method, path }) => [
      name,
      method.toLowerCase(),
      `/${path}`,
    ]),
    ['readChanges', 'get', '/changes'],
  ]);
  expect(Object.keys(document.webhooks)).toEqual(families.map(({ name }) => name));
});

it("has the search's parameters as in the interface", () => {
  const { parameters } = document.paths['/medical-db/v1/drugs-and-labs'].get;
  expect(parameters).toMatchObject([
    { name: 'q', required: true, schema: { type: 'string' } },
    { name: 'limit', required: false, schema: { type: 'integer', minimum: 1, maximum: 100, default: 10 } },
    { name: 's_type', required: false, schema: { enum: ['drug', 'lab'], default: 'drug' } },
  ]);
});

it('has the optional headers of a registration, and the token of every operation', () => {
  const { parameters } = document.paths['/abdm/na/v1/registration/aadhaar/verify'].post;
  expect(parameters).toMatchObject(
    ['X-Pt-Id', 'X-Partner-Pt-Id', 'X-Hip-Id'].map((name) => ({ name, in: 'header', required: false })),
  );
  expect(document.security).toEqual([{ token: [] }]);
});

it.each([
  ['ReceiptCallback', receiptCallback()],
  ['ReceiptCallback', receiptCallback({ data: { receipt_number: 7, unheard_of: [] } })],
  ['ConsentFormCallback', consentFormCallback()],
  ['ReviewRequestCallback', reviewRequestCallback()],
])('the schema accepts a valid callback: %s', (schema, callback) => {
  expect(matches(schema, callback)).toBe(true);
});

it.each([
  ['an event of another family', { ...receiptCallback(), event: 'mcert.created' }],
  ['no event time', { ...receiptCallback(), event_time: undefined }],
  ['no receipt id', receiptCallback({ data: { receipt_id: null } })],
  ['a name that is a number', receiptCallback({ data: { name: 5 } })],
  ['a fraction as a time', { ...receiptCallback(), event_time: 1.5 }],
])('the schema rejects an invalid callback: %s', (_, callback) => {
  expect(matches('ReceiptCallback', JSON.parse(JSON.stringify(callback)))).toBe(false);
});

describe('responses', () => {
  const { service: receiver } = useConsole();

  const send = (body: unknown, headers = {}) => post(`${receiver.url}${paths.receipt}`, body, headers);

  it.each([
    ['a callback', () => send(receiptCallback()), 200],
    ['a body that is not JSON', () => send('{'), 400],
    ['a GET', () => fetch(`${receiver.url}${paths.receipt}`), 405],
    ['another content type', () => send('{}', { 'Content-Type': 'text/plain' }), 415],
    ['an invalid callback', () => send({ ...receiptCallback(), data: {} }), 422],
  ])('describes the response to %s', async (_, request, status) => {
    const response = await request();
    const [type] = response.headers.get('content-type')!.split(';');
    const { $ref } = document.webhooks.receipt.post.responses[status];
    expect($ref).toBe(`#/components/responses/${status}`);
    const described = document.components.responses[status];
    expect(response.status).toBe(status);
    const schema = described.content[type!].schema.$ref.split('/').at(-1);
    expect(matches(schema, await response.json())).toBe(true);
    for (const name of Object.keys(described.headers ?? {})) expect(response.headers.has(name)).toBe(true);
  });
});

it('has exactly the receipt fields of the interface', () => {
  expect(Object.keys(document.components.schemas.ReceiptData.properties)).toEqual(Object.keys(receiptData));
});
