import type { Random } from './random.ts';

export type Clinic = ReturnType<typeof newClinic>;

const firstNames = "Asha Ravi Meera आशा रवि கவிதா మీనా অনিতা عائشہ ਗੁਰਪ੍ਰੀਤ Zoë D'Sa".split(' ');
const lastNames = ['Sample', 'Kumar', 'शर्मा', 'முருகன்', 'రెడ్డి', 'সেন', 'خان', 'ਸਿੰਘ', 'Müller-Rao', ''];
const digits = '0123456789';
const hex = '0123456789abcdef';

/** An id of 15 digits, as patients and doctors have. */
export const personId = (random: Random) => random.pick(['1', '2', '6', '7']) + random.text(14, digits);

/** An id of 24 hexadecimal digits, as clinics, clients and prescriptions have. */
export const hexId = (random: Random) => random.text(24, hex);

export function newClinic(random: Random, businessId?: string) {
  return {
    businessId: businessId ?? personId(random),
    clinicId: hexId(random),
    doctors: Array.from({ length: random.between(1, 4) }, () => personId(random)),
    nextReceipt: random.between(1, 5_000),
    /** In seconds. */
    lastPracticeChange: 0,
  };
}

export function newPatient(random: Random) {
  return {
    oid: personId(random),
    name: `${random.pick(firstNames)} ${random.pick(lastNames)}`.trim(),
    // No Indian mobile number begins with 5.
    mobile: `+915${random.text(9, digits)}`,
  };
}

/** An appointment's id: a UUID behind a short prefix. */
export function appointmentId(random: Random): string {
  const groups = [8, 4, 4, 4, 12].map((length) => random.text(length, hex));
  return `${random.pick(['d', 'api'])}-${groups.join('-')}`;
}

export type Visit = ReturnType<typeof newVisit>;

export function newVisit(random: Random, clinic: Clinic) {
  return {
    appointmentId: appointmentId(random),
    patient: newPatient(random),
    doctor: random.pick(clinic.doctors),
    clinicId: clinic.clinicId,
  };
}

/** The ids of who a visit is about. */
export const partiesOf = ({ doctor, patient, clinicId }: Visit) => ({
  doctor_id: doctor,
  patient_id: patient.oid,
  clinic_id: clinicId,
});

export const aboutVisit = (visit: Visit) => ({ appointment_id: visit.appointmentId, ...partiesOf(visit) });

/** The same in the partner's system. */
export const partnerPartiesOf = ({ doctor, patient, clinicId }: Visit) => ({
  partner_doctor_id: partnerId(doctor),
  partner_patient_id: partnerId(patient.oid),
  partner_clinic_id: partnerId(clinicId),
});

export const partnerId = (id: string) => `partner-${id.slice(-8)}`;

export const pdfUrl = (random: Random, folder: string) =>
  `https://storage.example/${folder}/${random.text(32, hex)}.pdf`;
