import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';

const secret = Buffer.from(process.env.WEBHOOK_SECRET.replace('whsec_', ''), 'base64');
createServer(async (req, res) => {
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': given } = req.headers;
  const signed = `${id}.${time}.${Buffer.concat(await req.toArray())}`;
  const isGenuine = given?.includes(createHmac('sha256', secret).update(signed).digest('base64')) ?? false;
  process.stdout.write(`genuine: ${isGenuine} ${signed}\n`, () => res.writeHead(isGenuine ? 204 : 401).end());
}).listen(9000, '127.0.0.1');
