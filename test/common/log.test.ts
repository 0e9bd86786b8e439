import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { createLog } from '../../src/common/log.ts';
import { closeLater } from '../support/close-later.ts';

const program = `
  const { createLog, endLog } = await import(process.argv[1]);
  const log = createLog('info');
  process.on('SIGTERM', async () => {
    log.info('stopping');
    log.info('stopped');
    await endLog();
    process.exit(0);
  });
  setInterval(() => {}, 1_000);
  log.info('ready');`;

function start(more = '', stdout: 'pipe' | number = 'pipe') {
  const args = ['--input-type=module', '-e', program + more, `${process.cwd()}/dist/common/log.js`];
  const child = spawn(process.execPath, args, { stdio: ['ignore', stdout, 'inherit', 'ipc'] });
  closeLater(() => child.kill('SIGKILL'));
  return child;
}

it('a process ends even if nothing reads its log any more', async () => {
  const child = start();
  await once(child.stdout!, 'data');
  const exited = once(child, 'exit');
  child.stdout!.destroy();
  await once(child.stdout!, 'close');
  child.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
});

it('a process goes on while the disk of its log is full', async () => {
  const busy = `let n = 0; setInterval(() => { log.info('line'); if (++n === 20) process.send('alive'); }, 5);`;
  const child = start(busy, openSync('/dev/full', 'w'));
  const exited = once(child, 'exit');
  expect(await Promise.race([once(child, 'message'), exited])).toEqual(['alive', undefined]);
  child.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
});

it('the last lines of a log are written before the process ends', async () => {
  const child = start();
  let text = '';
  child.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  await once(child.stdout!, 'data');
  child.kill('SIGTERM');
  await once(child, 'close');
  expect(text.match(/ready|stopping|stopped/g)).toEqual(['ready', 'stopping', 'stopped']);
});

it('an error is logged with its causes, and without what a JSON parser or PostgreSQL quotes of the data', () => {
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => void lines.push(line) });
  const parse = () => {
    try {
      return JSON.parse('{"name":Asha}');
    } catch (error) {
      return error;
    }
  };
  // As servers of other languages quote, and where a value has a quotation mark, or a line break.
  const texts = ['"Asha"', '»Asha«', '« Asha »', '"a"Asha"', 'a\n    at Asha\nAsha'];
  const refusals = texts.map((text) => Object.assign(new Error(text), { code: '22P02', severity: 'FEHLER' }));
  for (const refused of refusals) {
    const cause = new Error('No store is available', { cause: refused });
    log.error({ err: new Error('It failed', { cause }) }, 'failed');
  }
  log.error({ err: new Error('Not JSON', { cause: parse() }) }, 'failed');
  const full = Object.assign(new Error('no space left'), { code: '53100', severity: 'ERROR' });
  log.error({ err: full }, 'failed');
  expect(lines.join()).not.toContain('Asha');
  const errors = lines.map((line) => JSON.parse(line).err);
  const cause = { code: '22P02', message: '22P02' };
  expect(errors[0]).toMatchObject({
    message: 'It failed',
    cause: { message: 'No store is available', cause },
  });
  expect(errors.at(-2)).toMatchObject({ message: 'Not JSON', cause: { type: 'SyntaxError' } });
  expect(errors.at(-1)).toMatchObject({ message: '53100 no space left' });
});
