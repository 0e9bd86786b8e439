import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

const secret = Buffer.from(process.env.WEBHOOK_SECRET.replace('whsec_', ''), 'base64');
createServer(async (req, res) => {
  const signed = `${req.headers['webhook-id']}.${req.headers['webhook-timestamp']}.${await text(req)}`;
  const signature = `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`;
  const isGenuine = req.headers['webhook-signature'].split(' ').includes(signature);
  process.stdout.write(`${isGenuine ? 'genuine' : 'forged'} ${signed}\n`);
  res.writeHead(isGenuine ? 204 : 401).end();
}).listen(9000, '127.0.0.1');
