import { registrations } from '../../docs/registrations.ts';
import { eventNames } from '../../src/client/event-names.ts';
import { documentedEvents, registrations as ofSandbox } from '../../src/sandbox/families.ts';
import { documented } from '../support/platform/documented.ts';

it('the sandbox sends every event to a path of its family (otherwise: npm run docs)', () => {
  expect(ofSandbox).toEqual(registrations);
});

it('the client subscribes to every event that a family lists, and to no other (otherwise: npm run docs)', () => {
  expect([...eventNames].sort()).toEqual(documentedEvents.map(({ event }) => event).sort());
});

it('test/support/platform/documented.ts, from which tests of erasure and of the tables generate callbacks, has every event', () => {
  const events = documented.flatMap(({ events }) => Object.keys(events));
  expect(events.sort()).toEqual(documentedEvents.map(({ event }) => event).sort());
});
