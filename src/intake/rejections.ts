import { InvalidCallback } from '../receiver/intake/rejection.ts';

/** No family lists the event, and the path takes only those of one family, or the event is not text. */
export class UnknownEvent extends InvalidCallback {
  constructor(events: readonly string[] = []) {
    const known = events.length > 0 ? `: this path takes ${events.join(', ')}` : '';
    super([{ path: '/event', message: `is not a known event${known}` }]);
  }
}

/** The event of deliveries that the receiver itself makes: from outside it would pass for one of them. */
export class OwnEvent extends InvalidCallback {
  constructor() {
    super([{ path: '/event', message: 'is an event of the receiver itself, which no callback may have' }]);
  }
}

/** `event_time` does not tell when the event happened. */
export class NoEventTime extends InvalidCallback {
  constructor() {
    const message = 'must be a time from 2000 on';
    super([{ path: '/event_time', message }]);
  }
}

/** By two clocks: no earlier event could replace what it makes. */
export class EventInFuture extends InvalidCallback {
  constructor() {
    super([{ path: '/event_time', message: 'must not be more than a day in the future' }]);
  }
}

/** A callback of another path's family. */
export class WrongFamily extends InvalidCallback {
  constructor(events: readonly string[], event: string, where: string) {
    const message = `must be one of ${events.join(', ')} at this path; send ${event} to ${where}`;
    super([{ path: '/event', message }], 'wrong_family');
  }
}
