import { eventNames } from '../../src/client/subscription-schemas.ts';
import { type Family, families } from '../../src/families/index.ts';
import { documentedEvents, pathVariable } from '../../src/sandbox/families.ts';

const listed = (families as readonly Family[]).filter(({ events }) => events.length > 0);

it('the client subscribes to every event that a family lists, and to no other', () => {
  expect(eventNames.toSorted()).toEqual(listed.flatMap(({ events }) => events).toSorted());
});

it('the sandbox sends every event to a path of its family', () => {
  expect(documentedEvents.map(({ event }) => event).toSorted()).toEqual(eventNames.toSorted());
  for (const { event, family, path } of documentedEvents) {
    const receiving = listed.find(({ events }) => events.includes(event))!;
    expect([receiving.name, receiving.path.variable]).toEqual([family, pathVariable(family)]);
    expect(receiving.path.default).toContain(path);
  }
});
