import {
  createServiceClient,
  type ServiceClient,
  type ServiceClientOptions,
} from '../../src/client/index.ts';
import { type Sandbox, sandboxToken, startSandbox } from '../../src/sandbox/platform-server.ts';
import { listen } from '../support/listen.ts';

/** A sandbox for each test, and clients of it. */
export function usePlatform() {
  let sandbox: Sandbox;
  beforeEach(async () => {
    sandbox = await startSandbox({ serviceIdentifierField: 'maker' });
  });
  afterEach(() => sandbox.close());
  return {
    sandbox: () => sandbox,
    requests: () => sandbox.requests,
    /** A client whose every call has a fault of the sandbox. */
    client: (fault = 'none', options: Partial<ServiceClientOptions> = {}): ServiceClient =>
      createServiceClient({
        baseUrl: `${sandbox.url}/fault-${fault}`,
        token: sandboxToken,
        serviceIdentifierField: 'maker',
        retry: { firstPauseMs: 10 },
        ...options,
      }),
  };
}

/** A platform that responds with the same to everything. */
export function useResponses() {
  let canned: { status: number; body: string; headers: Record<string, string> };
  let url: string;
  beforeEach(async () => {
    url = await listen((_, response) => {
      response.writeHead(canned.status, canned.headers).end(canned.body);
    });
  });
  /** @returns its address */
  const respond = (status: number, body: string, headers: Record<string, string> = {}): string => {
    canned = { status, body, headers };
    return url;
  };
  const respondingWith = (status: number, body: string, headers?: Record<string, string>): ServiceClient => {
    const baseUrl = respond(status, body, headers);
    return createServiceClient({ baseUrl, token: sandboxToken, retry: { maxAttempts: 1 } });
  };
  return { respond, respondingWith };
}

let started = 0;

/** A transaction id with which a registration begins in the sandbox. */
export const newTransaction = () => `start-${++started}`;

/** A call of each operation. */
export const callsOf = (client: ServiceClient) => ({
  verifyAadhaarOtp: () =>
    client.verifyAadhaarOtp({ mobile: '9876543210', otp: '111111', txn_id: newTransaction() }),
  createAddressByMobile: () =>
    client.createAddressByMobile({ abha_address: 'asha@sbx', profile: {}, txn_id: newTransaction() }),
  createAddressByAadhaar: () =>
    client.createAddressByAadhaar({ abha_address: 'asha@sbx', txn_id: newTransaction() }),
  searchDrugsAndLabs: () => client.searchDrugsAndLabs({ q: 'a' }),
  listSubscriptions: () => client.listSubscriptions(),
  createSubscription: () => client.createSubscription({ endpoint: 'https://receiver.example/events' }),
  deleteSubscription: () => client.deleteSubscription({ id: 'some-id' }),
  listAppointments: () =>
    client.listAppointments({ start_date: '2026-08-01', end_date: '2026-08-07', page_no: 0 }),
  directory: () => client.directory(),
});

/** The error of a call; the test fails if the call succeeds. */
export const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (response) => expect(response).toBe('an error'),
    (error: unknown) => error,
  );
