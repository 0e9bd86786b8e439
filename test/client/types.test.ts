import {
  type AbhaProfile,
  type Appointment,
  type Drug,
  type LabTest,
  loginTokenSource,
  type OperationName,
  type Profile,
  type RequestTo,
  type ResponseTo,
  type ServiceIdentifier,
  type Subscription,
} from '../../src/client/index.ts';

type Verified = ResponseTo<'verifyAadhaarOtp'>;
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
const holds = <_ extends true>() => {};

// The compiler checks these types; jest only runs the lines.
it('has the service identifier in the type at abha_end, and as optional elsewhere', () => {
  function atEnd(response: Verified | ResponseTo<'createAddressByMobile'>) {
    if (response.skip_state === 'abha_end') return response.svc.min_token;
    // @ts-expect-error svc may be missing in every other state
    return response.svc.min_token;
  }
  holds<Same<Extract<Verified, { skip_state: 'abha_end' }>['svc'], ServiceIdentifier>>();
  const svc = { min_token: 'm', oid: null, uuid: null };
  expect(atEnd({ skip_state: 'abha_end', svc, raw: {} })).toBe('m');
});

it('has the known fields alone, at every depth, and the rest as unknown under raw', () => {
  type Responses = ResponseTo<Exclude<OperationName, 'deleteSubscription'>>;
  type Records = Profile & ServiceIdentifier & Subscription & Drug & LabTest & AbhaProfile & Appointment;
  type KeysOf<T> = T extends unknown ? keyof T : never;
  holds<string extends KeysOf<Responses> | keyof Records ? false : true>();
  holds<Same<unknown, Responses['raw'][string]>>();
  // @ts-expect-error year_of_birth
  expect((response: Verified) => response.profile?.year_of_brith).toHaveLength(1);
});

it('lets any profile field be null, and always has both arrays of a search', () => {
  holds<Same<Profile['year_of_birth'], number | null | undefined>>();
  holds<Same<Profile['first_name'], string | null | undefined>>();
  holds<Same<ResponseTo<'searchDrugsAndLabs'>['drugs'], Drug[]>>();
  holds<Same<ResponseTo<'searchDrugsAndLabs'>['lab_tests'], LabTest[]>>();
});

it('rejects in the types what is not in the interface', () => {
  // @ts-expect-error s_type is drug or lab
  const search: RequestTo<'searchDrugsAndLabs'> = { q: 'a', s_type: 'herb' };
  // @ts-expect-error the OTP is required
  const verify: RequestTo<'verifyAadhaarOtp'> = { mobile: '9876543210', txn_id: 't' };
  type NewSubscription = RequestTo<'createSubscription'>;
  // @ts-expect-error the endpoint is required
  const create: NewSubscription = { event_names: ['receipt.created'] };
  // @ts-expect-error event_names is a list
  const text: NewSubscription = { endpoint: 'https://a.example', event_names: 'receipt.created' };
  // @ts-expect-error a page of days has its number
  const page: RequestTo<'listAppointments'> = { start_date: '2026-08-01', end_date: '2026-08-01' };
  // @ts-expect-error the secret is required
  const login = () => loginTokenSource({ baseUrl: 'http://a', clientId: 'a' });
  expect([search, verify, create, text, page, login]).toHaveLength(6);
});

it('has the documented types of a subscription and of an appointment', () => {
  holds<Same<Subscription['id'], string>>();
  holds<Same<Subscription['signing_key'], string | null | undefined>>();
  holds<Same<Appointment['appointment_id'], string>>();
  holds<Same<Appointment['status'], string | null | undefined>>();
});
