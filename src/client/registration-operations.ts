import { z } from 'zod';
import { type Operation, text } from './operation.ts';

// Responses require only skip_state, and svc at abha_end: an OTP works once, so rejecting a response that lacks a hint
// would cost the user a registration.

const transactionId = z.string().min(1).describe('Transaction id from the previous response');
const address = z
  .string()
  .regex(/^[^\s@]+@[^\s@]+$/, 'must have the form <name>@<domain>')
  .describe('Health address, form <name>@<domain>');

/** Sections 2.5 and 4.2; which fields are required is not shown. */
export const profileRequest = z
  .strictObject({
    address: z.string().describe('Street address'),
    day_of_birth: z.int(),
    month_of_birth: z.int(),
    year_of_birth: z.int(),
    first_name: z.string(),
    middle_name: z.string(),
    last_name: z.string(),
    gender: z
      .string()
      .regex(/^\p{L}$/u, 'must be a single letter')
      .describe('Single-letter code; the allowed codes are not shown'),
    pincode: z.string().describe('Postal code'),
  })
  .partial();

/** Section 2.5: any field may be null. */
export const profile = z.object({
  abha_address: text.describe('Health address, form <name>@<domain>'),
  abha_addresses: z.array(z.string()).nullish().describe('Addresses available to the user'),
  abha_number: text.describe('Digit groups separated by hyphens, pattern 2-4-4-4'),
  address: text.describe('Street address'),
  day_of_birth: z.int().nullish(),
  month_of_birth: z.int().nullish(),
  year_of_birth: z.int().nullish(),
  first_name: text,
  middle_name: text,
  last_name: text,
  gender: text.describe('Single-letter code'),
  kyc_verified: z.unknown().optional().describe('Nullable; its type inside a profile is not shown'),
  mobile: text,
  pincode: text.describe('Postal code'),
});

/** An item of abha_profiles (section 2.5). */
export const abhaProfile = z.object({ abha_address: text, kyc_verified: text, name: text });

/** Section 2.5; the real name of the field that has it is configured. */
export const serviceIdentifier = z.object({
  min_token: z.string(),
  oid: z.unknown().optional().describe('Nullable; its type is not shown'),
  uuid: z.unknown().optional().describe('Nullable; its type is not shown'),
});

const headerValue = z
  .string()
  .regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, 'must be printable ASCII without outer blanks')
  .optional();

/** Section 4.1. */
export const registrationHeaders = z.strictObject({
  'X-Pt-Id': headerValue.describe("The platform's user identifier (OID)"),
  'X-Partner-Pt-Id': headerValue.describe('Partner user identifier'),
  'X-Hip-Id': headerValue.describe('Partner HIP identifier'),
});

const hint = text.describe('Hint for the mobile number');

/** A response as a union on skip_state: it has a service identifier at the end. */
function byState<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const fields = {
    profile: profile.nullish(),
    refresh_token: text.describe('Issued by the national health authority'),
    token: text.describe('ABHA token'),
    ...shape,
  };
  return z.discriminatedUnion('skip_state', [
    z.object({
      ...fields,
      skip_state: z.literal('abha_end'),
      svc: serviceIdentifier.describe('Present when skip_state is abha_end'),
    }),
    z.object({
      ...fields,
      skip_state: z.enum(['confirm_mobile_otp', 'abha_select', 'abha_create']),
      svc: serviceIdentifier.nullish(),
    }),
  ]);
}

const registers = { group: 'registration', method: 'POST' } as const;
const path = 'abdm/na/v1/registration';

export default {
  /** Section 4.1. Like every registration, it is not sent again once it may have reached the platform: an OTP works once. */
  verifyAadhaarOtp: {
    ...registers,
    path: `${path}/aadhaar/verify`,
    request: z.strictObject({
      mobile: z
        .string()
        .regex(/^[0-9]{10}$/, 'must be a 10-digit mobile number')
        .describe('10-digit mobile number for the new ABHA; may differ from the one linked to the Aadhaar'),
      otp: z.string().min(1).describe('OTP received on the mobile number'),
      txn_id: transactionId,
    }),
    response: byState({
      abha_profiles: z.array(abhaProfile).nullish(),
      hint,
      txn_id: text.describe('Transaction id, required for the next call'),
    }),
  },
  /** Section 4.2. */
  createAddressByMobile: {
    ...registers,
    path: `${path}/mobile/create-phr`,
    request: z.strictObject({
      abha_address: address.describe('Address to create'),
      profile: profileRequest,
      txn_id: transactionId,
    }),
    response: byState({ success: z.boolean().nullish() }),
  },
  /** Section 4.3. */
  createAddressByAadhaar: {
    ...registers,
    path: `${path}/aadhaar/create-phr`,
    request: z.strictObject({
      abha_address: address.describe('Address to go with the ABHA number'),
      txn_id: transactionId,
    }),
    response: byState({ hint, txn_id: text.describe('Transaction id') }),
  },
} as const satisfies Record<string, Operation>;

export type Profile = z.output<typeof profile>;
export type AbhaProfile = z.output<typeof abhaProfile>;
export type ServiceIdentifier = z.output<typeof serviceIdentifier>;
