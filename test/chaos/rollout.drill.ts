import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { seededRandom } from '../../src/sandbox/random.ts';
import { closeLater } from '../support/close-later.ts';
import { createEmptyDatabase } from '../support/database.ts';
import { spawnService, type TestProcess } from '../support/process.ts';
import { startRedis } from '../support/redis.ts';
import { post } from '../support/service.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { until } from '../support/until.ts';
import { createHistories } from './histories.ts';
import { startLoad } from './load.ts';

const minutes = Number(process.env.DRILL_MINUTES ?? 0);
const seed = Number(process.env.TEST_SEED);
jest.setTimeout(600_000 + minutes * 60_000);

/** Makes the present build with a family, a field and a view more. @returns its folder */
function makeNewerBuild(folder: string): string {
  const build = join(folder, 'newer');
  mkdirSync(build);
  for (const name of ['assets', 'bin', 'db', 'dist', 'package.json'])
    cpSync(name, join(build, name), { recursive: true });
  symlinkSync(resolve('node_modules'), join(build, 'node_modules'));
  const change = (file: string, from: string, to: string) => {
    const text = readFileSync(join(build, file), 'utf8');
    if (text.split(from).length !== 2) throw new Error(`${file} has not one ${from}`);
    writeFileSync(join(build, file), text.replace(from, to));
  };
  change('dist/receiver/store/migrate.js', 'export const revision = ', 'export const revision = 1_000 + ');
  change('dist/callbacks/families/receipt.js', 'remarks: text', 'newer: text, remarks: text');
  const view = `create or replace view reporting.newer as select newer from receipts;\ncomment on view reporting.newer is 'Newer';\n`;
  writeFileSync(join(build, 'db/reporting/9_newer.sql'), view);
  writeFileSync(
    join(folder, 'invoice.mjs'),
    `import { defineFamily, text } from '${resolve('dist/callbacks/authoring.js')}';
     export default defineFamily({ name: 'invoice', events: { 'invoice.created': 'created' }, path: { default: ['/invoices'] },
       table: 'invoices', fields: { number: text }, key: 'number' });`,
  );
  return build;
}

it.each(['redis', 'postgresql'])(
  `on %s: a rollout and the way back drop no callback, answer each, and merge it where its build knows it (seed ${seed})`,
  async (backend) => {
    const random = seededRandom(seed, backend.length);
    const histories = createHistories(random);
    const database = await createEmptyDatabase();
    closeLater(database.close);
    const redis = backend === 'redis' ? await startRedis() : undefined;
    closeLater(async () => redis?.stop());
    const env = { DATABASE_URL: database.url, ...(redis && { REDIS_URL: redis.url }) };
    const start = (ROLE: string, build?: string) =>
      spawnService({ ...env, ROLE, ...(build && { FAMILIES: folder }) }, build);
    const stop = async (one: TestProcess) => expect(await one.end('SIGTERM')).toBe(0);
    const folder = tempFolder();
    const newer = makeNewerBuild(folder);

    let receivers = [await start('receiver')];
    let worker = await start('worker');
    closeLater(() => Promise.all([...receivers, worker].map((one) => one.end('SIGTERM'))));
    const load = startLoad(() => receivers.map(({ url }) => url), histories, 20);
    /** The new receiver takes callbacks before the old one is told to stop. */
    const replaceReceiver = async (build?: string) => {
      const [old] = receivers;
      receivers = [old!, await start('receiver', build)];
      await pause(random.between(100, 2_000));
      receivers.reverse();
      await stop(old!);
      receivers.pop();
    };
    let invoices = 0;
    for (const end = Date.now() + (minutes / 2) * 60_000; ; ) {
      await pause(random.between(500, 2_000));
      const newWorker = await start('worker', newer);
      await pause(random.between(0, 2_000)); // two builds
      await replaceReceiver(newer);
      await stop(worker);
      worker = newWorker;
      invoices += 1;
      const invoice = {
        event: 'invoice.created',
        event_time: 1_763_000_000,
        data: { number: `N${invoices}` },
      };
      // A 503, as of a machine that stands still, means: send it again.
      await until(async () => (await post(`${receivers[0]!.url}/invoices`, invoice)).status === 200);
      await until(async () => (await database.count('invoices')) === invoices);

      await replaceReceiver(); // back: the older one knows neither the family nor the field
      await pause(random.between(500, 2_000));
      await stop(worker);
      await database.rows(`delete from receiver.settings where name = 'revision'`);
      worker = await start('worker');
      if (Date.now() >= end) break;
    }
    const { blamed, unanswered, longestMs } = await load.stop();
    process.stderr.write(`${backend}: ${histories.count()} callbacks, the slowest took ${longestMs} ms\n`);
    expect({ blamed, unanswered }).toEqual({ blamed: [], unanswered: 0 });
    await histories.expectMerged(database.rows);
    expect(await database.count('invoices')).toBe(invoices);
  },
);
