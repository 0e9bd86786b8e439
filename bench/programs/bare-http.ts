import { createServer } from 'node:http';
import { listen } from './ready.ts';

const server = createServer((req, res) => {
  const chunks: Buffer[] = [];
  req.on('data', (chunk: Buffer) => chunks.push(chunk));
  req.on('end', () => {
    const { event } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { event: string };
    const response = JSON.stringify({ status: 'accepted', event });
    res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(response) });
    res.end(response);
  });
});
listen(server);
