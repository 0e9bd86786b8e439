import type { Family } from '../families/index.ts';
import { webhooks } from './callbacks.ts';
import { changesPath } from './changes.ts';
import { paths, type ServiceInterface } from './operations.ts';
import { callbackResponses } from './responses.ts';
import { schemas } from './schemas.ts';

export interface DocumentOptions {
  families: readonly Family[];
  service: ServiceInterface;
  signatureHeader: string;
  version: string;
}

/**
 * The interface as an OpenAPI 3.1 document: the platform's operations, and its callbacks under `webhooks`,
 * generated from the schemas that validate them (service-interface sections 2, 4, 5 and 6; the platform's public
 * documentation for subscriptions).
 */
export function openApiDocument({ families, service, signatureHeader, version }: DocumentOptions) {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Webhook receiver',
      version,
      description:
        'The callbacks that the receiver accepts (webhooks), and the operations of the platform that its client ' +
        'calls (paths), with its own feed of changes. The schemas require only what the interface shows.',
    },
    servers: [
      {
        url: '{base_url}',
        description: 'The platform',
        variables: { base_url: { default: 'https://service.example', description: 'SERVICE_BASE_URL' } },
      },
    ],
    security: [{ token: [] }],
    tags: [
      { name: 'registration', description: 'Registration of a health account' },
      { name: 'search', description: 'The medical database' },
      {
        name: 'subscriptions',
        description:
          "Which events the platform sends, and where to. From the platform's public documentation, not from the " +
          'interface; it shows few types',
      },
      { name: 'changes', description: 'What the receiver tells others' },
      { name: 'callbacks', description: 'What the platform sends to the receiver' },
    ],
    paths: { ...paths(service), '/changes': changesPath(families) },
    webhooks: webhooks(families, signatureHeader),
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
        changesToken: { type: 'http', scheme: 'bearer', description: 'One of CHANGES_TOKENS' },
      },
      responses: callbackResponses,
      schemas: schemas(families, service),
    },
  };
}
