export { type CallbacksOptions, callbacks } from './callbacks.ts';
export { type DocumentedEvent, documentedEvents, type Envelope, type Family, families } from './families.ts';
export { type Callback, type HistoryOptions, history } from './history.ts';
export { sandboxCredentials } from './logins.ts';
export { type Attempt, type Destination, signatureOf } from './post.ts';
export { newRecords, type Records } from './records.ts';
export { type SendOptions, type Summary, sendCallbacks } from './sender.ts';
export {
  type ReceivedRequest,
  type Sandbox,
  type SandboxOptions,
  sandboxToken,
  startSandbox,
} from './server.ts';
export { eventsUrl, registeredUrls, type UrlOf } from './urls.ts';
