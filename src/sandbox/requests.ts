import { z } from 'zod';

// Written from sections 4.1 to 4.4 and the platform's public documentation, not imported from the client, so that a mistake in the client's schemas is not
// mirrored here.

const txnId = z.string().min(1);
const address = z.string().regex(/^[^\s@]+@[^\s@]+$/);
const text = z.string().optional();
const whole = z.int().optional();

export const verifyRequest = z.object({
  mobile: z.string().regex(/^\d{10}$/),
  otp: z.string().min(1),
  txn_id: txnId,
});

export const createByMobileRequest = z.object({
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

export const createByAadhaarRequest = z.object({ abha_address: address, txn_id: txnId });

export const searchQuery = z.object({
  q: z.string().min(1),
  limit: z.string().regex(/^\d+$/).transform(Number).pipe(z.int().min(1).max(100)).default(10),
  s_type: z.enum(['drug', 'lab']).default('drug'),
});

export const loginRequest = z.object({ client_id: z.string(), client_secret: z.string() });

export const subscriptionRequest = z.object({
  endpoint: z.string().min(1),
  event_names: z.array(z.string()).default([]),
  signing_key: z.string().default(''),
  protocol: z.string().default('https'),
});
