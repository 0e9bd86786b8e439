import { wrkVersion } from './load/wrk.ts';
import { readOptions } from './options.ts';
import { figuresTable } from './report/figures.ts';
import { goalsTable } from './report/goals.ts';
import { describeSetting } from './report/setting.ts';
import { writeReport } from './report/write.ts';
import { runRounds } from './rounds.ts';
import { withSession } from './session.ts';

const options = readOptions(process.argv.slice(2));

await withSession(async (session) => {
  const rounds = await runRounds({ ...session, options });
  const setting = describeSetting({ postgres: session.postgres.version, redis: session.redis.version });
  const { rounds: count, seconds, connections, warmup } = options;
  const sender = `${wrkVersion() ?? 'autocannon'} at full load, autocannon at a fixed rate`;
  const load = `${count} rounds, ${seconds} s each after ${warmup} s, ${connections} connections, ${sender}`;
  const file = writeReport(options.results, {
    name: `side-by-side-${setting.date}-${setting.commit!.split(' ')[0]}`,
    setting: { ...setting, load },
    tables: [figuresTable(options.contenders, rounds), goalsTable(rounds)],
  });
  session.say(`written to ${file}`);
});
