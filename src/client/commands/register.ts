import { createInterface } from 'node:readline';
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

type ByAadhaar = VerifyAadhaarOtpResponse | CreateAddressByAadhaarResponse;
type Response = ByAadhaar | CreateAddressByMobileResponse;

const textFields = ['first_name', 'middle_name', 'last_name', 'gender', 'address', 'pincode'] as const;
const numberFields = ['day_of_birth', 'month_of_birth', 'year_of_birth'] as const;

/**
 * Registers a health account interactively: asks for the fields of each request, sends it, and prints the response and
 * what the interface states about its skip_state. Asks again after invalid or rejected input.
 */
export async function register(registration: Registration): Promise<void> {
  const { client, ask, headers } = registration;
  const route = registration.route ?? (await askRoute(ask));
  const askTransaction = () => ask('Transaction id from the previous response');
  const startedWith = await askTransaction();
  if (route === 'mobile') {
    await untilAccepted(registration, async () => {
      const abha_address = await ask('Health address to create, <name>@<domain>');
      const profile = await askProfile(ask);
      return client.createAddressByMobile({ abha_address, profile, txn_id: startedWith }, headers);
    });
    return;
  }
  let response: ByAadhaar | undefined = await untilAccepted(registration, async () => {
    const mobile = await ask('Mobile number, 10 digits');
    return client.verifyAadhaarOtp({ mobile, otp: await ask('OTP'), txn_id: startedWith }, headers);
  });
  // The interface does not show which call follows a state, so the user decides.
  while (response && response.skip_state !== 'abha_end') {
    const txn_id: string = response.txn_id || (await askTransaction());
    response = await untilAccepted(registration, async () => {
      const abha_address = await ask('Health address to create by Aadhaar, <name>@<domain> (empty: stop)');
      return abha_address ? client.createAddressByAadhaar({ abha_address, txn_id }, headers) : undefined;
    });
  }
}

async function askRoute(ask: Registration['ask']): Promise<string> {
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

/** Repeats a step until its input is accepted, and prints the response. */
async function untilAccepted<T extends Response | undefined>(
  registration: Registration,
  step: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      const response = await step();
      if (response) show(registration, response);
      return response;
    } catch (error) {
      if (!(error instanceof RefusedInput || error instanceof Rejected)) throw error;
      registration.tell(`${error.message}${error.body ? ` · ${error.body}` : ''}\nTry again:`);
    }
  }
}

function show({ tell, showTokens }: Registration, response: Response): void {
  const secret = new Set(showTokens ? [] : ['token', 'refresh_token', 'min_token']);
  const hide = (key: string, value: unknown) =>
    secret.has(key) && value ? '[redacted: --show-tokens]' : value;
  // A field that is not documented might be a token, too.
  const { raw, ...known } = response;
  tell(JSON.stringify(known, hide, 2));
  const { state, statement } = nextStep(response);
  tell(`${state}: ${statement}`);
}

export class InputEnded extends Error {
  override readonly name = 'InputEnded';
}

/** Asks questions on a terminal; answers may also come from a pipe, one per line. */
export function openPrompt(input: NodeJS.ReadableStream, output: NodeJS.WritableStream) {
  const lines = createInterface({ input, output });
  // Not question(): it loses lines of a pipe that arrive between two questions.
  const answers = lines[Symbol.asyncIterator]();
  return {
    /** The answer, trimmed; raises InputEnded. */
    async ask(question: string): Promise<string> {
      lines.setPrompt(`${question}: `);
      lines.prompt();
      const { value, done } = await answers.next();
      if (done) throw new InputEnded('the input ended before the registration was complete');
      return value.trim();
    },
    close: () => lines.close(),
  };
}
