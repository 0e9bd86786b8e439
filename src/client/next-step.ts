import type { SkipState } from './registration-schemas.ts';

/** What the interface states about a skip_state (section 3). */
export interface NextStep {
  readonly state: SkipState;
  /** Section 3 guarantees the service identifier at abha_end only. */
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

/** What section 3 states about a response's skip_state. Transitions are not in the interface. */
export function nextStep(response: { readonly skip_state: SkipState }): NextStep {
  return { state: response.skip_state, ...steps[response.skip_state] };
}
