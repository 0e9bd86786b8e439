import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Returns the command to send instead; undefined: it is sent as it is. */
export type Rewrite = (command: readonly string[]) => readonly string[] | undefined;

/**
 * A link to a real Redis that replaces commands: so the server answers as another version would.
 *
 * @param rewrite gets each command, its name in lower case
 */
export async function startRedisProxy(port: number, rewrite: Rewrite) {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    let received = Buffer.alloc(0);
    client.on('data', (data) => {
      received = Buffer.concat([received, data]);
      for (let command = parse(received); command; command = parse(received)) {
        const { args, bytes } = command;
        const [name, ...others] = args.map(String);
        const replaced = rewrite([name!.toLowerCase(), ...others]);
        upstream.write(replaced ? encode(replaced) : received.subarray(0, bytes));
        received = received.subarray(bytes);
      }
    });
    upstream.pipe(client);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The first command; undefined: it is not complete. */
function parse(bytes: Buffer): { args: Buffer[]; bytes: number } | undefined {
  let at = 0;
  const readNumber = () => {
    const end = bytes.indexOf('\r\n', at);
    if (end < 0) return undefined;
    const number = Number(bytes.toString('latin1', at + 1, end));
    at = end + 2;
    return number;
  };
  const count = readNumber();
  if (count === undefined) return undefined;
  const args: Buffer[] = [];
  while (args.length < count) {
    const length = readNumber();
    if (length === undefined || bytes.length < at + length + 2) return undefined;
    args.push(bytes.subarray(at, at + length));
    at += length + 2;
  }
  return { args, bytes: at };
}

const encode = (command: readonly string[]) =>
  `*${command.length}\r\n${command.map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`).join('')}`;
