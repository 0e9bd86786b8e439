import type { SkipState } from './registration-schemas.ts';

/** The interface's statement on a skip_state (section 3). */
export interface NextStep {
  readonly state: SkipState;
  /** Section 3 guarantees the service identifier at abha_end only. */
  readonly serviceIdentifier: 'present' | 'not stated';
  readonly statement: string;
}

/** The statement of section 3 on a response's skip_state. Transitions are not in the interface. */
export function nextStep({ skip_state: state }: { readonly skip_state: SkipState }): NextStep {
  if (state === 'abha_end') {
    const statement =
      'The service identifier (svc) is present. The interface states nothing else about this state.';
    return { state, serviceIdentifier: 'present', statement };
  }
  const statement =
    'The interface names this state and states nothing else about it; which call follows is not shown.';
  return { state, serviceIdentifier: 'not stated', statement };
}
