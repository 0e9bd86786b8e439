export { type CallbacksOptions, callbacks } from './callback-sequence.ts';
export { type DocumentedEvent, documentedEvents, type Envelope, type Family, families } from './families.ts';
export { type Callback, type HistoryOptions, history } from './history.ts';
export { newRecords, type Records } from './platform-records.ts';
export {
  type ReceivedRequest,
  type Sandbox,
  type SandboxOptions,
  sandboxCredentials,
  sandboxToken,
  startSandbox,
} from './platform-server.ts';
export { type Attempt, type SendOptions, type Summary, sendCallbacks, signatureOf } from './sender.ts';
export { eventsUrl, registeredUrls, type UrlOf } from './urls.ts';
