import { consentForm } from '../../src/callbacks/families/consent-form.ts';
import { receipt } from '../../src/callbacks/families/receipt.ts';
import { families } from '../../src/sandbox/history.ts';
import { eventsUrl, registeredUrls } from '../../src/sandbox/sender.ts';

const familyOf = (event: string) => families.find(({ events }) => Object.hasOwn(events, event))!;
const registered = (event: string, env = {}) =>
  registeredUrls('http://receiver.example/', env)({ event, family: familyOf(event) });

it('sends the events of a family to the path of its variable', () => {
  const env = { RECEIPTS_PATH: '', REVIEW_REQUESTS_PATH: '/ours' };
  expect(registered('google_review.request', env)).toBe('http://receiver.example/ours');
  expect(registered('receipt.created', env)).toBe(
    'http://receiver.example/registered_url_for_receipt_events',
  );
});

it("sends a callback at another family's path to that family's first one", () => {
  const url = registeredUrls('http://receiver.example', { CONSENT_FORMS_PATH: '/forms' });
  expect(url({ event: 'receipt.created', family: consentForm })).toBe('http://receiver.example/forms');
});

it('sends everything to the one path of EVENTS_PATH', () => {
  const callback = { event: 'receipt.created', family: receipt };
  expect(eventsUrl('http://receiver.example')(callback)).toBe('http://receiver.example/events');
  expect(eventsUrl('http://receiver.example/', { EVENTS_PATH: '/all' })(callback)).toBe(
    'http://receiver.example/all',
  );
});
