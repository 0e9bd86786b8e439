import { registrations } from '../../docs/registrations.ts';
import { eventNames } from '../../src/client/event-names.ts';
import { documentedEvents, registrations as ofSandbox } from '../../src/sandbox/families.ts';

it('the sandbox sends every event to a path of its family (otherwise: npm run docs)', () => {
  expect(ofSandbox).toEqual(registrations);
});

it('the client subscribes to every event that a family lists, and to no other (otherwise: npm run docs)', () => {
  expect([...eventNames].sort()).toEqual(documentedEvents.map(({ event }) => event).sort());
});
