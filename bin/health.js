// The health check of the image: exits with 0 if /healthz answers with 200, of a worker at METRICS_PORT, else at SOCKET or PORT.
import { get } from 'node:http';

const { ROLE, SOCKET, PORT, METRICS_PORT } = process.env;
const isWorker = ROLE === 'worker';
const address =
  SOCKET && !isWorker
    ? { socketPath: SOCKET }
    : { host: '127.0.0.1', port: (isWorker ? METRICS_PORT : PORT) || 8080 };
get({ ...address, path: '/healthz' }, (response) => process.exit(response.statusCode === 200 ? 0 : 1)).on(
  'error',
  () => process.exit(1),
);
