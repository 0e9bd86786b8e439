import { baseline, ours } from './contenders/index.ts';
import { type Bench, type Measurement, measure } from './measure.ts';
import type { SideBySideOptions } from './options.ts';

/** The figures of every contender, one per round. */
export type Rounds = Record<string, Measurement[]>;

/** Runs the contenders in turn, round by round: other load on the machine then affects all of them. */
export async function runRounds(bench: Bench & { options: SideBySideOptions }): Promise<Rounds> {
  const { options, say } = bench;
  const rounds: Rounds = Object.fromEntries(options.contenders.map(({ name }) => [name, []]));
  for (let round = 1; round <= options.rounds; round += 1) {
    const rates: Record<string, number> = {};
    for (const contender of options.contenders) {
      say(`round ${round} of ${options.rounds}: ${contender.title}`);
      const measured = await measure(bench, contender, round * 1000, {
        rates: contender.name === baseline ? rates : {},
        expected: rounds[contender.name]!.at(-1)?.alone.perSecond,
      });
      rounds[contender.name]!.push(measured);
      if (ours.includes(contender.name)) rates[contender.name] = measured.alone.perSecond / 2;
    }
  }
  return rounds;
}
