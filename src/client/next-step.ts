import type { SkipState } from './registration-schemas.ts';

/** What the interface states about a skip_state (section 3), and no more. */
export interface NextStep {
  readonly state: SkipState;
  /** Section 3 promises the service identifier at abha_end, and says nothing of the other states. */
  readonly serviceIdentifier: 'present' | 'not stated';
  readonly statement: string;
}

const onlyNamed = {
  serviceIdentifier: 'not stated',
  statement:
    'The interface names this state and states nothing else about it; which call follows is not shown.',
} as const;

const steps: Record<SkipState, Omit<NextStep, 'state'>> = {
  abha_end: {
    serviceIdentifier: 'present',
    statement: 'The service identifier (svc) is present. The interface states nothing else about this state.',
  },
  confirm_mobile_otp: onlyNamed,
  abha_select: onlyNamed,
  abha_create: onlyNamed,
};

/** Tells from a registration response's skip_state alone what section 3 states; it invents no transition. */
export function nextStep(response: { readonly skip_state: SkipState }): NextStep {
  return { state: response.skip_state, ...steps[response.skip_state] };
}
