import { randomUUID } from 'node:crypto';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import { sendError } from './faults.ts';

// Written from sections 4.1 to 4.3, not imported from the client, so that a mistake in the client's schemas is not mirrored.
const txnId = z.string().min(1);
const address = z.string().regex(/^[^\s@]+@[^\s@]+$/);
const text = z.string().optional();
const whole = z.int().optional();

const verifyRequest = z.object({
  mobile: z.string().regex(/^\d{10}$/),
  otp: z.string().min(1),
  txn_id: txnId,
});

const createByMobileRequest = z.object({
  abha_address: address,
  profile: z.object({
    address: text,
    day_of_birth: whole,
    first_name: text,
    gender: z.string().length(1).optional(),
    last_name: text,
    middle_name: text,
    month_of_birth: whole,
    pincode: text,
    year_of_birth: whole,
  }),
  txn_id: txnId,
});

const createByAadhaarRequest = z.object({ abha_address: address, txn_id: txnId });

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

const maxIds = 20_000;

/** The operation that a transaction id is valid for; the one that issues the first id is not in the interface. */
type Use = 'begin' | 'create-by-aadhaar';

/** Transaction ids, each valid for one operation, once. One that begins with "start-" begins a registration. */
function transactions() {
  const uses = new Map<string, Use | 'none'>();

  function set(id: string, use: Use | 'none'): void {
    uses.set(id, use);
    if (uses.size > maxIds) uses.delete(uses.keys().next().value as string);
  }
  return {
    /** Why the id is not valid for this use; undefined if it is. */
    rejectionReason(id: string, use: Use): string | undefined {
      const validFor = uses.get(id) ?? (id.startsWith('start-') ? 'begin' : undefined);
      if (validFor === use) return undefined;
      if (validFor === undefined) return 'this transaction id is unknown';
      return `this transaction id ${validFor === 'none' ? 'was already used' : 'is for another operation'}`;
    },
    consume: (id: string) => set(id, 'none'),
    issue(use: Use): string {
      const id = randomUUID();
      set(id, use);
      return id;
    },
  };
}
