import type { Observer } from './observer.ts';

/** An observer that notifies each of these; undefined: there is none. */
export function joinObservers(...observers: (Observer | undefined)[]): Observer | undefined {
  const given = observers.filter((observer) => observer !== undefined);
  if (given.length < 2) return given[0];
  const names = new Set(given.flatMap((observer) => Object.keys(observer) as (keyof Observer)[]));
  const joined = Array.from(names, (name) => {
    const calls = given.flatMap((observer) => (observer[name] as Notify | undefined) ?? []);
    const callAll: Notify = (...args) => {
      for (const call of calls) call(...args);
    };
    return [name, callAll];
  });
  return Object.fromEntries(joined) as Observer;
}

type Notify = (...args: unknown[]) => void;
