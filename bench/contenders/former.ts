import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { type Contender, type ProgramOf, startScript } from './contender.ts';
import { oursEmbedded, oursOnRedis } from './ours.ts';

/** Another version of this service, built in a folder of its own: the same programs, their tables, their options. */
export function formerOf(folder: string): Contender[] {
  const cwd = resolve(folder);
  const former = (program: ProgramOf) => ({ ...program, command: ['sh', join(cwd, startScript)], cwd });
  return [oursOnRedis, oursEmbedded].map((ours) => ({
    ...ours,
    name: ours.name.replace('ours', 'former'),
    title: ours.title.replace('ours', 'former'),
    receiver: former(ours.receiver),
    worker: former(ours.worker!),
    prepare: async ({ databaseUrl }) => {
      const env = { ...process.env, DATABASE_URL: databaseUrl };
      await promisify(execFile)(process.execPath, ['bin/receiver.js', 'migrate'], { cwd, env });
    },
  }));
}
