import type { ServiceClient } from '../../src/client/index.ts';

let started = 0;

/** A transaction id with which a registration begins in the sandbox. */
export const newTransaction = () => `start-${++started}`;

/** One call of each operation whose input carries a magic value of the sandbox. */
export function faultyCalls(client: ServiceClient, fault: string, mobile: string) {
  const abha_address = `fault-${fault}@sbx`;
  return {
    verifyAadhaarOtp: () => client.verifyAadhaarOtp({ mobile, otp: '111111', txn_id: newTransaction() }),
    createAddressByMobile: () =>
      client.createAddressByMobile({ abha_address, profile: {}, txn_id: newTransaction() }),
    createAddressByAadhaar: () => client.createAddressByAadhaar({ abha_address, txn_id: newTransaction() }),
    searchDrugsAndLabs: () => client.searchDrugsAndLabs({ q: `fault-${fault}` }),
  };
}

/** The error of a call; the test fails if the call succeeds. */
export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  const succeeded = Symbol('succeeded');
  const outcome = await promise.then(
    () => succeeded,
    (error: unknown) => error,
  );
  expect(outcome).not.toBe(succeeded);
  return outcome;
}
