export { type CallbacksOptions, callbacks } from './callback-sequence.ts';
export { type Callback, type Envelope, families, type HistoryOptions, history } from './history.ts';
export { newRecords, type Records } from './platform-records.ts';
export {
  type ReceivedRequest,
  type Sandbox,
  type SandboxOptions,
  sandboxCredentials,
  sandboxToken,
  startSandbox,
} from './platform-server.ts';
export {
  type Attempt,
  eventsUrl,
  registeredUrls,
  type SendOptions,
  type Summary,
  sendCallbacks,
  type UrlOf,
} from './sender.ts';
