import { aboutVisit, type Clinic, newPatient, type Visit } from '../clinic.ts';
import type { Random } from '../random.ts';
import type { Scenario, ScenarioEvent } from './scenario.ts';

/** The doctor waits in the video consultation. */
export function doctorJoined(random: Random, visit: Visit): ScenarioEvent {
  const room = `https://video.example/${random.text(16, 'abcdefghijkmnpqrstuvwxyz')}`;
  const video_connect = { host_link: `${room}/host`, meet_link: room, vendor: 'example' };
  return { event: 'appointment.tele.dr_joined', data: { ...aboutVisit(visit), video_connect } };
}

/** A reminder that a vaccination of a patient is due in the next four weeks. */
export function* vaccinationScenario(random: Random, clinic: Clinic, now: number): Scenario {
  const patient = newPatient(random);
  const dueOn = new Date(now + random.between(1, 28) * 86_400_000);
  yield {
    event: 'vaccination.reminder',
    data: {
      doctor_id: random.pick(clinic.doctors),
      patient_id: patient.oid,
      patient_name: patient.name,
      doctor_name: `Dr ${newPatient(random).name}`,
      booking_link: `https://booking.example/${random.text(10, 'abcdefghijkmnpqrstuvwxyz')}`,
      due_date: dueOn.toISOString().slice(0, 10),
      vaccines: random.pick(['MMR 2', 'Hepatitis B 3, IPV 3', 'Typhoid', 'इन्फ्लुएंज़ा']),
    },
  };
}
