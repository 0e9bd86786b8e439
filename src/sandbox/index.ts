export type { Callback, CallbacksOptions, Envelope } from './history.ts';
export { callbacks, families } from './history.ts';
export { newRecords, type Records } from './platform-records.ts';
export type { ReceivedRequest, Sandbox, SandboxOptions } from './platform-server.ts';
export { sandboxCredentials, sandboxToken, startSandbox } from './platform-server.ts';
export type { SendOptions, Summary, UrlOf } from './sender.ts';
export { registeredUrls, sendCallbacks, signatureOf } from './sender.ts';
