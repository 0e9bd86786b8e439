import { randomUUID } from 'node:crypto';
import { type RequestHandler, Router } from 'express';
import { z } from 'zod';
import { sendError, sendInvalid } from './faults.ts';

// Written from sections 4.1 to 4.4, not imported from the client, so that a mistake in the client's schemas is not mirrored.
const txn_id = z.string().min(1);
const abha_address = z.string().regex(/^[^\s@]+@[^\s@]+$/);
const verifyRequest = z.object({ mobile: z.string().regex(/^\d{10}$/), otp: z.string().min(1), txn_id });
const createByMobileRequest = z.object({ abha_address, profile: z.looseObject({}), txn_id });
const createByAadhaarRequest = z.object({ abha_address, txn_id });
const searchQuery = z.object({
  q: z.string().min(1),
  limit: z.string().regex(/^\d+$/).transform(Number).pipe(z.int().min(1).max(100)).default(10),
  s_type: z.enum(['drug', 'lab']).default('drug'),
});
const subscriptionRequest = z.object({
  endpoint: z.string().min(1),
  event_names: z.array(z.string()).default([]),
  signing_key: z.string().default(''),
  protocol: z.string().default('https'),
});

export function operations(identifierField: string): Router {
  const router = Router();
  const register = createRegistration(identifierField);
  const base = '/abdm/na/v1/registration';
  router.post(
    `${base}/aadhaar/verify`,
    register(verifyRequest, ({ mobile }) => ({
      abha_profiles: [{ abha_address: 'asha.sample@sbx', kyc_verified: 'VERIFIED', name: 'Asha Sample' }],
      hint: `******${mobile?.slice(-4)}`,
      txn_id: randomUUID(),
    })),
  );
  router.post(
    `${base}/mobile/create-phr`,
    register(createByMobileRequest, () => ({ success: true })),
  );
  router.post(
    `${base}/aadhaar/create-phr`,
    register(createByAadhaarRequest, () => ({ hint: '******3210', txn_id: randomUUID() })),
  );
  router.get('/medical-db/v1/drugs-and-labs', (request, response) => {
    const query = searchQuery.safeParse(request.query);
    if (query.success) return void response.json(searchMedicalDatabase(query.data));
    sendInvalid(response, 400, 'invalid_query', query.error);
  });
  router.use('/notification/v1/connect/webhook/subscriptions', subscriptions());
  return router;
}

const stateOfOtp: Record<string, string> = {
  '111111': 'abha_end',
  '222222': 'confirm_mobile_otp',
  '333333': 'abha_select',
  '444444': 'abha_create',
};
const wrongOtp = '000000';

interface RegistrationRequest {
  txn_id: string;
  otp?: string;
  mobile?: string | null;
  abha_address?: string;
  profile?: object;
}

/** A transaction id is good for one registration. */
function createRegistration(identifierField: string) {
  const usedIds = new Set<string>();

  return (
    schema: z.ZodType<RegistrationRequest>,
    more: (request: RegistrationRequest) => object,
  ): RequestHandler =>
    ({ body }, response) => {
      const { success, data: request, error } = schema.safeParse(body);
      if (!success) return sendInvalid(response, 422, 'invalid_request', error);
      if (usedIds.has(request.txn_id))
        return sendError(response, 422, 'invalid_transaction', 'it was used already');
      if (request.otp === wrongOtp) return sendError(response, 422, 'wrong_otp', 'the OTP does not match');
      usedIds.add(request.txn_id);
      const state = request.otp === undefined ? 'abha_end' : (stateOfOtp[request.otp] ?? 'abha_create');
      const isEnd = state === 'abha_end';
      const svc = { min_token: 'sandbox-min-token', oid: '123456789012345', uuid: null };
      response.json({
        skip_state: state,
        ...(isEnd && { [identifierField]: svc }),
        token: isEnd ? 'sandbox-abha-token' : null,
        refresh_token: isEnd ? 'sandbox-refresh-token' : null,
        profile: profileOf(request),
        ...more(request),
      });
    };
}

const profileOf = ({ abha_address = 'asha.sample@sbx', mobile = null, profile }: RegistrationRequest) => ({
  first_name: null,
  abha_address,
  abha_addresses: [abha_address],
  abha_number: '91-0000-0000-0000',
  year_of_birth: 1990,
  kyc_verified: true,
  mobile,
  // Real responses have undocumented fields too.
  state_name: 'Sample State',
  ...profile,
});

// The substance exists; the maker and the products are fictitious.
const drugs = ['tablet', 'syrup'].map((product_type) => ({
  id: `drug-${product_type}`,
  name: `Nilgiri ${product_type}`,
  generic_name: 'Paracetamol 500 mg',
  manufacturer_name: 'Nilgiri Remedies',
  product_type,
  is_otc: true,
  product_sku: `SKU-${product_type}`,
  action_class: { name: 'over the counter' },
  drug_name_match: false,
  highlighted_fields: { generic_name: '<em>Paracetamol</em> 500 mg' },
}));
const preparation = 'Nothing but water for 10 hours';
const labTests = [
  { id: 'lab-1', name: 'Lipid profile', category: 'Biochemistry', price: 499.75, preparation },
];

/** Which array s_type fills is not shown in section 4.4; here it is the one of its kind. */
function searchMedicalDatabase({ q, limit, s_type }: z.output<typeof searchQuery>) {
  const matches = (item: object) => JSON.stringify(item).toLowerCase().includes(q.toLowerCase());
  return {
    drugs: s_type === 'drug' ? drugs.filter(matches).slice(0, limit) : [],
    lab_tests: s_type === 'lab' ? labTests.filter(matches).slice(0, limit) : [],
  };
}

function subscriptions(): Router {
  const byId = new Map<string, z.output<typeof subscriptionRequest>>();
  const router = Router();
  router.get('/', (_, response) => void response.json({ data: [...byId.values()], msg: 'success' }));
  router.post('/', ({ body }, response) => {
    const { success, data, error } = subscriptionRequest.safeParse(body);
    if (!success) return sendInvalid(response, 400, 'INVALID_REQUEST', error);
    if ([...byId.values()].some(({ endpoint }) => endpoint === data.endpoint))
      return sendError(response, 400, 'INVALID_REQUEST', 'the endpoint is registered already');
    const id = randomUUID();
    const at = new Date().toISOString();
    const by = { client_id: 'sandbox-client', created_by: 'sandbox-client' };
    byId.set(id, Object.assign(data, { id, ...by, created_at: at, updated_at: at }));
    response.status(201).json({ id, status: 'created' });
  });
  // No body: none is documented.
  router.delete('/:id', ({ params }, response) => {
    if (byId.delete(params.id)) return void response.status(200).end();
    sendError(response, 404, 'NOT_FOUND', 'no such subscription');
  });
  return router;
}
