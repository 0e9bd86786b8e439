export { type DocumentedEvent, documentedEvents, type Envelope, type Family, families } from './families.ts';
export { type Callback, type HistoryOptions, history, type Spelling } from './history.ts';
export { type Credentials, sandboxCredentials } from './logins.ts';
export { type AppointmentBook, appointmentBook, type BookOptions } from './platform/book.ts';
export { newRecords, type Records, recorded } from './platform/records.ts';
export { type Attempt, type Destination, signatureOf } from './post.ts';
export { type SendOptions, sendCallbacks } from './sender.ts';
export {
  type ReceivedRequest,
  type Sandbox,
  type SandboxOptions,
  sandboxToken,
  startSandbox,
} from './server.ts';
export type { Summary } from './tally.ts';
export { eventsUrl, registeredUrls, type UrlOf } from './urls.ts';
export { type CallbacksOptions, callbacks } from './variations.ts';
