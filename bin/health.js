// The health check of the image: exits with 0 if /healthz answers with 200 at PORT.
import { get } from 'node:http';

get({ host: '127.0.0.1', port: Number(process.env.PORT) || 8080, path: '/healthz' }, (response) =>
  process.exit(response.statusCode === 200 ? 0 : 1),
).on('error', () => process.exit(1));
