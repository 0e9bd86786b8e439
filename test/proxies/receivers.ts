import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../src/store/embedded/free-port.ts';
import { spawnService, type TestProcess } from '../support/process.ts';

/** Two receivers and a worker in processes of their own. */
export interface Receivers {
  /** Each `host:port`, or a socket file. */
  addresses: readonly string[];
  processes: TestProcess[];
  /** Starts one again after its end. */
  start: (index: number) => Promise<void>;
  stop: () => Promise<void>;
}

export async function startReceivers(
  env: Record<string, string>,
  listenOn: 'ports' | 'sockets' = 'ports',
): Promise<Receivers> {
  const folder = mkdtempSync(join(tmpdir(), 'receiver-sockets-'));
  const ports = [await freePort(), await freePort()];
  const processes: TestProcess[] = [];
  const common = { TRUST_PROXY: '1', LOG_LEVEL: 'debug', ...env };
  const worker = await spawnService({ ...common, ROLE: 'worker' }); // runs the migrations
  const sockets = [1, 2].map((number) => join(folder, `${number}.sock`));
  const start = async (index: number) => {
    const own: Record<string, string> =
      listenOn === 'sockets' ? { SOCKET: sockets[index]! } : { PORT: String(ports[index]) };
    processes[index] = await spawnService({ ...common, ROLE: 'receiver', ...own });
  };
  await Promise.all([start(0), start(1)]);
  return {
    addresses: listenOn === 'sockets' ? sockets : ports.map((port) => `127.0.0.1:${port}`),
    processes,
    start,
    stop: async () => {
      await Promise.all([worker, ...processes].map((receiver) => receiver.end('SIGTERM')));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
