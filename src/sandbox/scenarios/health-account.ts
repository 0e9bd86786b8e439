import { type Clinic, hexId, newPatient, partnerId } from '../clinic.ts';
import type { Random } from '../random.ts';
import { inSeconds, type Scenario, type ScenarioEvent, sometimes } from './scenario.ts';

const digits = '0123456789';

/** A patient's health account: created, its profile shared at counters, and the records of visits linked to it. */
export function* healthAccountScenario(random: Random, clinic: Clinic): Scenario {
  const { oid } = newPatient(random);
  const link = {
    abha_address: `sample.${random.text(10, digits)}@example`,
    hip_id: clinic.clinicId,
    oid,
    partner_patient_id: partnerId(oid),
  };
  const groups = [2, 4, 4, 4].map((length) => random.text(length, digits));
  const account = { ...link, abha_number: groups.join('-') };
  yield { event: 'abha.created', data: account };
  while (random.chance(0.5)) {
    const request = { hip_code: `counter-${random.between(1, 4)}`, req_id: hexId(random) };
    yield { event: 'abha.hip_profile_share', data: { ...account, ...request } };
  }
  while (random.chance(0.6)) {
    const care_context_id = hexId(random);
    let retry_count = 0;
    const linked = (status: string, more: object = {}): ScenarioEvent => ({
      event: 'abha.link_care_context',
      data: { ...link, care_context_id, status, retry_count, ...more },
    });
    while (random.chance(0.3)) {
      yield linked('FAILED', sometimes(random, { error: 'The account does not answer' }));
      retry_count += 1;
    }
    yield linked('LINKED');
  }
}

/** A booking through a network for health services: mostly confirmed, sometimes cancelled. */
export function* bookingScenario(random: Random, clinic: Clinic, bookedAt: number): Scenario {
  const { oid, name, mobile } = newPatient(random);
  const start = inSeconds(bookedAt) + random.between(1, 72) * 3_600;
  const order = {
    order_id: hexId(random),
    slot: { start, end: start + 900 },
    doctor: { id: random.pick(clinic.doctors), name: 'Dr Meera Sample' },
    billing: { name, phone: mobile, email: 'sample@mail.example', address: 'Sample Street 1' },
    patient: { id: oid, dob: '1990-01-01', gender: random.pick(['M', 'F', 'O']) },
  };
  const version = (action: string, state: string): ScenarioEvent => ({
    event: `booking.${action}`,
    data: { ...order, state },
  });
  yield version('init', 'INITIATED');
  if (random.chance(0.8)) yield version('confirm', 'CONFIRMED');
  if (random.chance(0.3)) yield version('cancel', 'CANCELLED');
  else yield version('status', random.pick(['COMPLETED', 'IN_PROGRESS']));
}
