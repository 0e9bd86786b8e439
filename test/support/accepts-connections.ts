import { tryConnection } from '../../src/embedded/server-process.ts';

/** Whether a database accepts connections. */
export async function acceptsConnections(url: string): Promise<boolean> {
  return !(await tryConnection(url));
}
