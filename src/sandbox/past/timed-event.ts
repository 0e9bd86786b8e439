import type { Scenario, ScenarioEvent } from '../scenarios/scenario.ts';

/** An event, and when it happens: milliseconds since 1970. */
export interface TimedEvent extends ScenarioEvent {
  readonly at: number;
}

/** A scenario's events: the first at `start`, each other one a pause later. */
export function timed(scenario: Scenario, start: number, pause: () => number): TimedEvent[] {
  const events: TimedEvent[] = [];
  let at = start;
  for (let step = scenario.next(at); !step.done; step = scenario.next(at)) {
    events.push({ ...step.value, at });
    at += pause();
  }
  return events;
}
