import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { built } from '../contenders/contender.ts';
import { tracked } from '../process/program.ts';
import type { LoadFigures, LoadOrder } from './order.ts';

/** Runs a load in a separate process. @throws Error when it fails, or the receiver rejects a request */
export async function runLoad(order: LoadOrder): Promise<LoadFigures> {
  const child = tracked(
    spawn(process.execPath, ['--v8-pool-size=1', built('load'), JSON.stringify(order)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
  const [output, [code]] = await Promise.all([text(child.stdout!), once(child, 'exit')]);
  if (code !== 0) throw new Error(`The load ended with ${code}.`);
  const figures = JSON.parse(output) as LoadFigures;
  if (figures.rejected > 0) throw new Error(`${figures.rejected} of the load's requests were rejected.`);
  return figures;
}
