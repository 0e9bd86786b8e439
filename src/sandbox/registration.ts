import { randomUUID } from 'node:crypto';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import { sendError, sendInvalid } from './faults.ts';

// Written from sections 4.1 to 4.3, not imported from the client, so that a mistake in the client's schemas is not mirrored.
const txn_id = z.string().min(1);
const abha_address = z.string().regex(/^[^\s@]+@[^\s@]+$/);
const text = z.string().optional();
const whole = z.int().optional();

const verifyRequest = z.object({ mobile: z.string().regex(/^\d{10}$/), otp: z.string().min(1), txn_id });
const profile = z.object({
  ...{ address: text, first_name: text, middle_name: text, last_name: text, pincode: text },
  ...{ day_of_birth: whole, month_of_birth: whole, year_of_birth: whole },
  gender: z.string().length(1).optional(),
});
const createByMobileRequest = z.object({ abha_address, profile, txn_id });
const createByAadhaarRequest = z.object({ abha_address, txn_id });

const stateOfOtp: Record<string, string> = {
  '111111': 'abha_end',
  '222222': 'confirm_mobile_otp',
  '333333': 'abha_select',
  '444444': 'abha_create',
};
const wrongOtp = '000000';

type Input = { txn_id: string; otp?: string; mobile?: string; abha_address?: string; profile?: object };

/** The three registration operations (sections 4.1 to 4.3), by their paths. A transaction id is good for one of them. */
export function registration(identifierField: string): Record<string, RequestHandler> {
  const used = new Set<string>();

  const operation =
    (schema: z.ZodType<Input>, more: (input: Input) => object): RequestHandler =>
    ({ body }, response) => {
      const { success, data: input, error } = schema.safeParse(body);
      if (!success) return sendInvalid(response, 422, 'invalid_request', error);
      if (used.has(input.txn_id))
        return sendError(response, 422, 'invalid_transaction', 'it was used already');
      if (input.otp === wrongOtp) return sendError(response, 422, 'wrong_otp', 'the OTP does not match');
      used.add(input.txn_id);
      const state = input.otp === undefined ? 'abha_end' : (stateOfOtp[input.otp] ?? 'abha_create');
      const ends = state === 'abha_end';
      const svc = { min_token: 'sandbox-min-token', oid: '123456789012345', uuid: null };
      response.json({
        skip_state: state,
        ...(ends ? { [identifierField]: svc } : {}),
        token: ends ? 'sandbox-abha-token' : null,
        refresh_token: ends ? 'sandbox-refresh-token' : null,
        profile: profileOf(input),
        ...more(input),
      });
    };

  return {
    '/abdm/na/v1/registration/aadhaar/verify': operation(verifyRequest, ({ mobile = '' }) => ({
      abha_profiles: [{ abha_address: 'asha.sample@sbx', kyc_verified: 'VERIFIED', name: 'Asha Sample' }],
      hint: `******${mobile.slice(-4)}`,
      txn_id: randomUUID(),
    })),
    '/abdm/na/v1/registration/mobile/create-phr': operation(createByMobileRequest, () => ({ success: true })),
    '/abdm/na/v1/registration/aadhaar/create-phr': operation(createByAadhaarRequest, () => ({
      ...{ hint: '******3210', txn_id: randomUUID() },
    })),
  };
}

function profileOf({ abha_address: address = 'asha.sample@sbx', mobile, profile: known }: Input) {
  return {
    ...Object.fromEntries(Object.keys(profile.shape).map((field) => [field, null])),
    abha_address: address,
    abha_addresses: [address],
    abha_number: '91-0000-0000-0000',
    year_of_birth: 1990,
    kyc_verified: true,
    mobile: mobile ?? null,
    // Real responses have undocumented fields too.
    state_name: 'Sample State',
    ...known,
  };
}
