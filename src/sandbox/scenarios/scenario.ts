import { type Random, removeAt } from '../random.ts';

export interface ScenarioEvent {
  readonly event: string;
  readonly data: Record<string, unknown>;
  /** Where the data alone does not say what it is about. */
  readonly transactionId?: string;
}

/** The events of one record, such as a receipt; `next` takes the time of the event, milliseconds. */
export type Scenario = Generator<ScenarioEvent, void, number>;

/** Scenarios at the same time, in random order. Returns the time of the event after the last. */
export function* interleaved(
  random: Random,
  start: number,
  scenarios: Scenario[],
): Generator<ScenarioEvent, number, number> {
  let now = start;
  while (scenarios.length > 0) {
    const place = random.between(0, scenarios.length - 1);
    const step = scenarios[place]!.next(now);
    if (step.done) removeAt(scenarios, place);
    else now = yield step.value;
  }
  return now;
}

/** Fields that may be missing: most of them. */
export function sometimes(random: Random, fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(() => random.chance(0.8)));
}

export const inSeconds = (milliseconds: number) => Math.floor(milliseconds / 1000);

export const inRupees = (paise: number) => paise / 100;
