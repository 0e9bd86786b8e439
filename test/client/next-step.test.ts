import { nextStep, skipStates } from '../../src/client/index.ts';

it('states the service identifier at abha_end, as section 3 does', () => {
  expect(nextStep({ skip_state: 'abha_end' })).toEqual({
    state: 'abha_end',
    serviceIdentifier: 'present',
    statement: expect.stringContaining('svc'),
  });
});

it.each(skipStates.filter((state) => state !== 'abha_end'))('invents nothing about %s', (skip_state) => {
  expect(nextStep({ skip_state })).toEqual({
    state: skip_state,
    serviceIdentifier: 'not stated',
    statement: expect.stringContaining('states nothing else about it'),
  });
});

it('depends on the state only', () => {
  const response = { skip_state: 'abha_select', svc: { min_token: 'm' }, txn_id: 't' } as const;
  expect(nextStep(response)).toEqual(nextStep({ skip_state: 'abha_select' }));
});
