import { createLog } from '../../src/common/log.ts';
import type { Family } from '../../src/families/index.ts';
import { createFamilyPauses, type FamilyPauses } from '../../src/worker/family-pauses.ts';

const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
const families = names.map((name) => ({ name })) as unknown as Family[];
const open = () => createFamilyPauses(families, createLog('silent'));
const taken = (pauses: FamilyPauses, ...of: string[]) =>
  pauses.take(of).map((group) => group.map(({ name }) => name).join(''));

it('a job is applied to its own families, in the order of the list', () => {
  expect(taken(open(), 'c', 'a')).toEqual(['ac']);
});

it('a job of a version that does not name its families is applied to all of them', () => {
  expect(open().take(undefined)).toEqual([families]);
});

it('a family that this version does not have is left to others', () => {
  expect(taken(open(), 'zebra')).toEqual([]);
});

it('beyond some combinations, each of which takes a prepared statement, all families are applied together', () => {
  const pauses = open();
  const combinations = Array.from({ length: 2 ** 7 - 1 }, (_, bits) =>
    names.filter((_, place) => ((bits + 1) >> place) & 1),
  );
  const groups = combinations.flatMap((some) => taken(pauses, ...some));
  expect(new Set(groups).size).toBeLessThan(50);
  for (const [index, some] of combinations.entries()) {
    expect(some.every((name) => groups[index]!.includes(name))).toBe(true);
  }
});

it('a paused family is not applied, and does not delay the others of its job', () => {
  const pauses = open();
  const error = new Error('locked') as never;
  pauses.update([families[0]!, families[1]!], { applied: 0, broken: [{ family: 'a', error }] });
  expect(taken(pauses, 'a', 'b')).toEqual(['b']);
});
