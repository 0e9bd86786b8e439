import {
  type AbhaProfile,
  type Appointment,
  type CreateAddressByMobileResponse,
  type CreateSubscriptionRequest,
  type Drug,
  type LabTest,
  loginTokenSource,
  type OperationName,
  operations,
  type Profile,
  type SearchRequest,
  type SearchResponse,
  type ServiceClient,
  type ServiceIdentifier,
  type Subscription,
  type TokenSource,
  type VerifyAadhaarOtpRequest,
  type VerifyAadhaarOtpResponse,
} from '../../src/client/index.ts';

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
const holds = <_ extends true>() => {};

// The compiler checks these types; jest only runs the lines.
it('has the service identifier in the type at abha_end, and as optional elsewhere', () => {
  function atEnd(response: VerifyAadhaarOtpResponse | CreateAddressByMobileResponse) {
    if (response.skip_state === 'abha_end') return response.svc.min_token;
    // @ts-expect-error svc may be missing in every other state
    return response.svc.min_token;
  }
  holds<Same<Extract<VerifyAadhaarOtpResponse, { skip_state: 'abha_end' }>['svc'], ServiceIdentifier>>();
  expect(atEnd({ skip_state: 'abha_end', svc: { min_token: 'm', oid: null, uuid: null }, raw: {} })).toBe(
    'm',
  );
});

it('has the known fields alone, at every depth, and the rest as unknown under raw', () => {
  type Responses = Awaited<ReturnType<ServiceClient[Exclude<OperationName, 'deleteSubscription'>]>>;
  holds<string extends keyof Responses ? false : true>();
  holds<
    string extends keyof (Profile & ServiceIdentifier & Subscription & Drug & LabTest & AbhaProfile)
      ? false
      : true
  >();
  holds<Same<unknown, Responses['raw'][string]>>();
  function misspelt(v: VerifyAadhaarOtpResponse, found: SearchResponse, subscription: Subscription) {
    // @ts-expect-error skip_state
    const state = v.skip_sate;
    // @ts-expect-error year_of_birth
    const year = v.profile?.year_of_brith;
    // @ts-expect-error lab_tests
    const tests = found.labtests;
    // @ts-expect-error generic_name
    const generic = found.drugs[0]?.genericname;
    // @ts-expect-error event_names
    const names = subscription.events;
    return [state, year, tests, generic, names, v.raw.anything];
  }
  expect(misspelt).toHaveLength(3);
});

it('lets any profile field be null', () => {
  holds<Same<Profile['year_of_birth'], number | null | undefined>>();
  holds<Same<Profile['first_name'], string | null | undefined>>();
});

it('rejects in the types what is not in the interface', () => {
  // @ts-expect-error s_type is drug or lab
  const search: SearchRequest = { q: 'a', s_type: 'herb' };
  // @ts-expect-error the OTP is required
  const verify: VerifyAadhaarOtpRequest = { mobile: '9876543210', txn_id: 't' };
  expect([search, verify]).toHaveLength(2);
});

it('always has both arrays in a search response', () => {
  holds<Same<SearchResponse['drugs'] extends unknown[] ? true : false, true>>();
  holds<Same<SearchResponse['lab_tests'] extends unknown[] ? true : false, true>>();
});

it('marks as repeatable only what changes nothing, and deletion', () => {
  const repeatable = Object.values(operations).filter((operation) => operation.repeatable);
  expect(repeatable.map((operation) => operation.name)).toEqual([
    'searchDrugsAndLabs',
    'listSubscriptions',
    'deleteSubscription',
    'listAppointments',
    'directory',
  ]);
});

it('has the time of the response in every reading, and in no other operation', () => {
  type AnswerOf<Name extends 'directory' | 'searchDrugsAndLabs'> = Awaited<ReturnType<ServiceClient[Name]>>;
  holds<Same<AnswerOf<'directory'>['answeredAt'], Date>>();
  holds<'answeredAt' extends keyof AnswerOf<'searchDrugsAndLabs'> ? false : true>();
  holds<Same<Appointment['appointment_id'], string>>();
  holds<Same<Appointment['status'], string | null | undefined>>();
  // @ts-expect-error start_time
  const time = (appointment: Appointment) => appointment.starttime;
  // @ts-expect-error a page of days has its number
  const page: Parameters<ServiceClient['listAppointments']>[0] = {
    start_date: '2026-08-01',
    end_date: '2026-08-01',
  };
  expect([time, page]).toHaveLength(2);
});

it('has the fields of a subscription in the types, and nothing about those whose type is not shown', () => {
  holds<Same<Subscription['id'], string>>();
  holds<Same<Subscription['signing_key'], string | null | undefined>>();
  holds<Same<unknown, Subscription['created_at']>>();
  holds<Same<Awaited<ReturnType<ServiceClient['deleteSubscription']>>, undefined>>();
  // @ts-expect-error the endpoint is required
  const create: CreateSubscriptionRequest = { event_names: ['receipt.created'] };
  // @ts-expect-error event_names is a list
  const text: CreateSubscriptionRequest = { endpoint: 'https://a.example', event_names: 'receipt.created' };
  expect([create, text]).toHaveLength(2);
});

it('takes a login as a token source', () => {
  const token: TokenSource = loginTokenSource({ baseUrl: 'http://a', clientId: 'a', clientSecret: 'b' });
  // @ts-expect-error the secret is required
  const incomplete = () => loginTokenSource({ baseUrl: 'http://a', clientId: 'a' });
  expect([token, incomplete]).toHaveLength(2);
});
