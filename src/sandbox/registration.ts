import type { Request, Response } from 'express';
import type { z } from 'zod';
import { sendError } from './faults.ts';
import { createByAadhaarRequest, createByMobileRequest, verifyRequest } from './requests.ts';
import { transactions, type Use } from './transactions.ts';

type State = 'abha_end' | 'confirm_mobile_otp' | 'abha_select' | 'abha_create';

const stateOfOtp: Record<string, State> = {
  '111111': 'abha_end',
  '222222': 'confirm_mobile_otp',
  '333333': 'abha_select',
  '444444': 'abha_create',
};
const wrongOtp = '000000';

/** The three registration operations (sections 4.1 to 4.3), by their paths. */
export function registration(identifierField: string) {
  const ids = transactions();

  function step<S extends z.ZodType<{ txn_id: string }>>(
    schema: S,
    use: Use,
    respond: (input: z.output<S>, response: Response) => object | undefined,
  ) {
    return (request: Request, response: Response) => {
      const parsed = schema.safeParse(request.body);
      if (!parsed.success) {
        const fields = parsed.error.issues.map((i) => i.path.join('.') || 'body').join(', ');
        return sendError(response, 422, 'invalid_request', `invalid: ${fields}`);
      }
      const reason = ids.rejectionReason(parsed.data.txn_id, use);
      if (reason) return sendError(response, 422, 'invalid_transaction', reason);
      const body = respond(parsed.data, response);
      if (!body) return;
      ids.consume(parsed.data.txn_id);
      response.json(body);
    };
  }

  function outcome(state: State) {
    const svc = { min_token: 'sandbox-min-token', oid: '123456789012345', uuid: null };
    return {
      skip_state: state,
      ...(state === 'abha_end' ? { [identifierField]: svc } : {}),
      token: state === 'abha_end' ? 'sandbox-abha-token' : null,
      refresh_token: state === 'abha_end' ? 'sandbox-refresh-token' : null,
    };
  }

  const nextId = (state: State) => (state === 'abha_end' ? '' : ids.issue('create-by-aadhaar'));

  return {
    '/abdm/na/v1/registration/aadhaar/verify': step(verifyRequest, 'begin', ({ otp, mobile }, response) => {
      if (otp === wrongOtp) return void sendError(response, 422, 'wrong_otp', 'the OTP does not match');
      const state = stateOfOtp[otp] ?? 'abha_create';
      return {
        ...outcome(state),
        abha_profiles: [{ abha_address: 'asha.sample@sbx', kyc_verified: 'VERIFIED', name: 'Asha Sample' }],
        hint: `******${mobile.slice(-4)}`,
        profile: profileOf('asha.sample@sbx', { mobile }),
        txn_id: nextId(state),
      };
    }),
    '/abdm/na/v1/registration/mobile/create-phr': step(createByMobileRequest, 'begin', (input, response) => {
      if (isTaken(input.abha_address, response)) return undefined;
      return {
        ...outcome(stateOfAddress(input.abha_address)),
        profile: profileOf(input.abha_address, input.profile),
        success: true,
      };
    }),
    '/abdm/na/v1/registration/aadhaar/create-phr': step(
      createByAadhaarRequest,
      'create-by-aadhaar',
      (input, response) => {
        if (isTaken(input.abha_address, response)) return undefined;
        const state = stateOfAddress(input.abha_address);
        return {
          ...outcome(state),
          hint: '******3210',
          profile: profileOf(input.abha_address, { first_name: 'Asha' }),
          txn_id: nextId(state),
        };
      },
    ),
  };
}

function isTaken(address: string, response: Response): boolean {
  const taken = address.startsWith('taken@');
  if (taken) sendError(response, 409, 'address_taken', 'the address is taken');
  return taken;
}

function stateOfAddress(address: string): State {
  const named = /^state-([a-z_]+)/.exec(address)?.[1];
  return Object.values(stateOfOtp).find((state) => state === named) ?? 'abha_end';
}

function profileOf(address: string, known: Record<string, unknown>) {
  return {
    abha_address: address,
    abha_addresses: [address],
    abha_number: '91-0000-0000-0000',
    address: null,
    day_of_birth: null,
    month_of_birth: null,
    year_of_birth: 1990,
    first_name: null,
    middle_name: null,
    last_name: null,
    gender: null,
    kyc_verified: true,
    mobile: null,
    pincode: null,
    // Real responses have undocumented fields too.
    state_name: 'Sample State',
    ...known,
  };
}
