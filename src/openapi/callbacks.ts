import { type Family, takesEveryEvent } from '../families/index.ts';
import { callbackOf, schemaRef } from './names.ts';
import { callbackResponses } from './responses.ts';

/** The callbacks of each family, which the platform sends to a registered path (service-interface section 4.5). */
export function webhooks(families: readonly Family[], signatureHeader: string): Record<string, object> {
  const responses = Object.fromEntries(
    Object.keys(callbackResponses).map((status) => [status, { $ref: `#/components/responses/${status}` }]),
  );
  return Object.fromEntries(
    families.map((family) => [
      family.name,
      {
        post: {
          operationId: `receive_${family.name}`,
          summary: takesEveryEvent(family)
            ? 'Every event, also one that no other webhook lists'
            : family.events.join(', '),
          description:
            `Sent to a path that ${family.path.variable} configures, by default ${family.path.default.join(' or ')}. ` +
            'Times are in seconds, in milliseconds if above 1e11, or ISO 8601 with an offset. event may be called ' +
            'event_type. Additional fields are allowed and stored.',
          tags: ['callbacks'],
          security: [],
          parameters: [signature(signatureHeader)],
          requestBody: {
            required: true,
            content: { 'application/json': { schema: schemaRef(callbackOf(family)) } },
          },
          responses,
        },
      },
    ]),
  );
}

function signature(name: string): object {
  return {
    name,
    in: 'header',
    required: false,
    description:
      't=<unix seconds>,v1=<hex HMAC-SHA256 of "<t>.<raw body>">; v1 may repeat during a key rotation. ' +
      'Required if the receiver has signing keys.',
    schema: { type: 'string', pattern: '^t=[0-9]+(,v1=[0-9a-f]{64})+$' },
    example: `t=1700000000,v1=${'0123456789abcdef'.repeat(4)}`,
  };
}
