import type { RegistrationOptions } from '../call.ts';
import { RefusedInput, Rejected } from '../errors.ts';
import { nextStep } from '../next-step.ts';
import type {
  CreateAddressByAadhaarResponse,
  CreateAddressByMobileResponse,
  ProfileRequest,
  VerifyAadhaarOtpResponse,
} from '../registration-schemas.ts';
import type { ServiceClient } from '../service-client.ts';

export interface Registration {
  readonly client: ServiceClient;
  readonly ask: (question: string) => Promise<string>;
  readonly tell: (text: string) => void;
  readonly route: 'aadhaar' | 'mobile' | undefined;
  readonly headers: RegistrationOptions;
  readonly showTokens: boolean;
}

type Response = VerifyAadhaarOtpResponse | CreateAddressByAadhaarResponse | CreateAddressByMobileResponse;

const textFields = ['first_name', 'middle_name', 'last_name', 'gender', 'address', 'pincode'] as const;
const numberFields = ['day_of_birth', 'month_of_birth', 'year_of_birth'] as const;

/**
 * Registers a health account interactively: asks for the fields of each request, sends it, and prints the response and
 * what the interface states about its skip_state. Asks again after invalid or rejected input.
 */
export async function register(registration: Registration): Promise<void> {
  const route = registration.route ?? (await askRoute(registration));
  await (route === 'mobile' ? registerByMobile(registration) : registerByAadhaar(registration));
}

async function registerByAadhaar(registration: Registration): Promise<void> {
  const { client, ask, tell, headers } = registration;
  const startedWith = await ask('Transaction id from the previous response');
  let response: VerifyAadhaarOtpResponse | CreateAddressByAadhaarResponse = await untilAccepted(
    tell,
    async () =>
      client.verifyAadhaarOtp(
        { txn_id: startedWith, mobile: await ask('Mobile number, 10 digits'), otp: await ask('OTP') },
        headers,
      ),
  );
  show(registration, response);
  // The interface does not show which call follows a state, so the user decides.
  while (response.skip_state !== 'abha_end') {
    const txn_id = response.txn_id || (await ask('Transaction id from the previous response'));
    const next = await untilAccepted(tell, async () => {
      const abha_address = await ask('Health address to create by Aadhaar, <name>@<domain> (empty: stop)');
      return abha_address === ''
        ? undefined
        : client.createAddressByAadhaar({ abha_address, txn_id }, headers);
    });
    if (!next) return;
    response = next;
    show(registration, response);
  }
}

async function registerByMobile(registration: Registration): Promise<void> {
  const { client, ask, tell, headers } = registration;
  const txn_id = await ask('Transaction id from the previous response');
  const response = await untilAccepted(tell, async () => {
    const abha_address = await ask('Health address to create, <name>@<domain>');
    return client.createAddressByMobile({ abha_address, profile: await askProfile(ask), txn_id }, headers);
  });
  show(registration, response);
}

async function askRoute({ ask }: Registration): Promise<string> {
  for (;;) {
    const answer = await ask('Register by (aadhaar or mobile)');
    if (answer === 'aadhaar' || answer === 'mobile') return answer;
  }
}

async function askProfile(ask: Registration['ask']): Promise<ProfileRequest> {
  const profile: Record<string, string | number> = {};
  for (const field of [...textFields, ...numberFields]) {
    const answer = await ask(`${field} (empty: leave out)`);
    if (answer === '') continue;
    const isNumber = (numberFields as readonly string[]).includes(field) && /^\d+$/.test(answer);
    profile[field] = isNumber ? Number(answer) : answer;
  }
  return profile;
}

async function untilAccepted<T>(tell: Registration['tell'], step: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof RefusedInput || error instanceof Rejected)) throw error;
      tell(`${error.message}${error.body ? ` · ${error.body}` : ''}\nTry again:`);
    }
  }
}

function show({ tell, showTokens }: Registration, response: Response): void {
  const secret = new Set(showTokens ? [] : ['token', 'refresh_token', 'min_token']);
  const hide = (key: string, value: unknown) =>
    secret.has(key) && value ? '[redacted: --show-tokens]' : value;
  tell(JSON.stringify(response, hide, 2));
  const { state, statement } = nextStep(response);
  tell(`${state}: ${statement}`);
}
