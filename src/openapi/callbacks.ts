import type { Family } from '../families/index.ts';
import { callbackOf, schemaRef } from './names.ts';
import { callbackAnswers } from './responses.ts';

/** The callbacks of each family (service-interface section 4.5), which come to a path that is registered. */
export function webhooks(families: readonly Family[], signatureHeader: string): Record<string, object> {
  return Object.fromEntries(
    families.map((family) => [
      family.name,
      {
        post: {
          operationId: `receive_${family.name}`,
          summary: family.events.join(', '),
          description:
            `Sent to the path that ${family.path.variable} configures, ${family.path.default} unless told. ` +
            'Times are seconds, or milliseconds above 1e11. Fields beyond these may be there and are kept.',
          tags: ['callbacks'],
          security: [],
          parameters: [signature(signatureHeader)],
          requestBody: {
            required: true,
            content: { 'application/json': { schema: schemaRef(callbackOf(family)) } },
          },
          responses: callbackAnswers(),
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
      't=<unix seconds>,v1=<hex HMAC-SHA256 of "<t>.<raw body>">; v1 may repeat while a key is replaced. ' +
      'Required where the receiver has signing keys.',
    schema: { type: 'string', pattern: '^t=[0-9]+(,v1=[0-9a-f]{64})+$' },
    example: `t=1700000000,v1=${'0123456789abcdef'.repeat(4)}`,
  };
}
