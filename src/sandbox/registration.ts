import type { RequestHandler } from 'express';
import type { z } from 'zod';
import { sendError } from './faults.ts';
import { createByAadhaarRequest, createByMobileRequest, verifyRequest } from './requests.ts';
import { transactions, type Use } from './transactions.ts';

type State = 'abha_end' | 'confirm_mobile_otp' | 'abha_select' | 'abha_create';
type Input = { txn_id: string; otp?: string; abha_address?: string };

const stateOfOtp: Record<string, State> = {
  '111111': 'abha_end',
  '222222': 'confirm_mobile_otp',
  '333333': 'abha_select',
  '444444': 'abha_create',
};
const wrongOtp = '000000';

/** The three registration operations (sections 4.1 to 4.3), by their paths. */
export function registration(identifierField: string): Record<string, RequestHandler> {
  const ids = transactions();

  /** `fields` returns what the response has besides the state and its tokens. */
  const operation =
    <I extends Input>(
      schema: z.ZodType<I>,
      use: Use,
      fields: (input: I, state: State) => object,
    ): RequestHandler =>
    ({ body }, response) => {
      const { success, data: input, error } = schema.safeParse(body);
      if (!success) {
        const invalid = error.issues.map((i) => i.path.join('.') || 'body').join(', ');
        return sendError(response, 422, 'invalid_request', `invalid: ${invalid}`);
      }
      const reason = ids.rejectionReason(input.txn_id, use);
      if (reason) return sendError(response, 422, 'invalid_transaction', reason);
      // The transaction id stays valid after these two.
      if (input.otp === wrongOtp) return sendError(response, 422, 'wrong_otp', 'the OTP does not match');
      if (input.abha_address?.startsWith('taken@')) {
        return sendError(response, 409, 'address_taken', 'the address is taken');
      }
      ids.consume(input.txn_id);
      const state = stateOf(input);
      const ends = state === 'abha_end';
      const svc = { min_token: 'sandbox-min-token', oid: '123456789012345', uuid: null };
      response.json({
        skip_state: state,
        ...(ends ? { [identifierField]: svc } : {}),
        token: ends ? 'sandbox-abha-token' : null,
        refresh_token: ends ? 'sandbox-refresh-token' : null,
        ...fields(input, state),
      });
    };

  const nextId = (state: State) => (state === 'abha_end' ? '' : ids.issue('create-by-aadhaar'));

  return {
    '/abdm/na/v1/registration/aadhaar/verify': operation(verifyRequest, 'begin', ({ mobile }, state) => ({
      abha_profiles: [{ abha_address: 'asha.sample@sbx', kyc_verified: 'VERIFIED', name: 'Asha Sample' }],
      hint: `******${mobile.slice(-4)}`,
      profile: profileOf('asha.sample@sbx', { mobile }),
      txn_id: nextId(state),
    })),
    '/abdm/na/v1/registration/mobile/create-phr': operation(createByMobileRequest, 'begin', (input) => ({
      profile: profileOf(input.abha_address, input.profile),
      success: true,
    })),
    '/abdm/na/v1/registration/aadhaar/create-phr': operation(
      createByAadhaarRequest,
      'create-by-aadhaar',
      ({ abha_address }, state) => ({
        hint: '******3210',
        profile: profileOf(abha_address, { first_name: 'Asha' }),
        txn_id: nextId(state),
      }),
    ),
  };
}

/** The state that the OTP or the address selects (docs/sandbox.md). */
function stateOf({ otp, abha_address = '' }: Input): State {
  if (otp !== undefined) return stateOfOtp[otp] ?? 'abha_create';
  const named = /^state-([a-z_]+)/.exec(abha_address)?.[1];
  return Object.values(stateOfOtp).find((state) => state === named) ?? 'abha_end';
}

function profileOf(address: string, known: object) {
  const unknown = Object.keys(createByMobileRequest.shape.profile.shape).map((field) => [field, null]);
  return {
    ...Object.fromEntries(unknown),
    abha_address: address,
    abha_addresses: [address],
    abha_number: '91-0000-0000-0000',
    year_of_birth: 1990,
    kyc_verified: true,
    mobile: null,
    // Real responses have undocumented fields too.
    state_name: 'Sample State',
    ...known,
  };
}
