// The health check of the image: exits with 0 if /healthz answers with 200, of a worker at METRICS_PORT, else at PORT.
import { get } from 'node:http';

const { ROLE, PORT, METRICS_PORT } = process.env;
const port = (ROLE === 'worker' ? METRICS_PORT : PORT) || 8080;
get({ host: '127.0.0.1', port, path: '/healthz' }, (response) =>
  process.exit(response.statusCode === 200 ? 0 : 1),
).on('error', () => process.exit(1));
