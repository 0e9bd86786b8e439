import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { childrenOf } from '../../src/store/embedded/processes.ts';
import { until } from '../support/until.ts';

/** Needs a kernel that lists a process's children. */
const itWithChildren = existsSync(`/proc/${process.pid}/task/${process.pid}/children`) ? it : () => {};

itWithChildren('a child that ends while children are listed hides none of the others', async () => {
  const parent = spawn('sh', ['-c', 'exec 3<&0; cat <&3 & while :; do /bin/true & /bin/true; done'], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const listsCat = () => childrenOf(parent.pid).some(({ command }) => command.startsWith('cat'));
  try {
    await until(listsCat);
    for (let look = 0; look < 5_000; look += 1) expect(listsCat()).toBe(true);
  } finally {
    parent.kill('SIGKILL');
    parent.stdin.end();
    await once(parent, 'exit');
  }
});
