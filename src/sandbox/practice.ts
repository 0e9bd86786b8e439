import { digits, hexId, personId, type Random } from './random.ts';

export interface Doctor {
  id: string;
  name: string;
  clinic: Clinic;
}

interface Clinic {
  id: string;
  name: string;
  /** Before the numbers of its receipts. */
  prefix: string;
}

/** The ids and names of a patient, by what samples have in their place. */
type Patient = Readonly<Record<string, string>>;

export interface Practice {
  businessId: string;
  name: string;
  doctors: Doctor[];
  patients: Patient[];
  nextNumber: number;
  nextReceipt: number;
}

const clinics = [
  { prefix: 'JA', name: 'Jayanagar', doctors: ['Dr Meera Rao', 'Dr Arjun Gowda'] },
  { prefix: 'IN', name: 'Indiranagar', doctors: ['Dr Anna Kurian', 'Dr Vikram Shetty'] },
  { prefix: 'LH', name: 'Lakeside Hospital', doctors: ['Dr Farah Khan', 'Dr Suresh Iyer'] },
];

const names = (first: string, last: string) => ({ first: first.split(' '), last: last.split(' ') });
const latin = names(
  "Asha Ravi Meera Lakshmi Ananya Gurpreet Imran Thomas Kavya Rohan Sunita Zoë Deepak Nisha Joseph Fatima Arun D'Arcy",
  "Rao Kumar Reddy Das Gowda Nair Khan D'Sa Iyer Singh Menon Bose Patel Müller-Rao Shetty Joshi",
);
const otherScripts = [
  names('आशा रवि सुनीता मोहन कविता अनिल', 'शर्मा राव वर्मा जोशी गुप्ता देशपांडे'),
  names('கவிதா ரவி மீனா முருகன் செல்வி அருண்', 'சுந்தரம் ராஜன் குமார் நடராஜன் பாண்டியன்'),
  names('ಅನಿತಾ ರಮೇಶ್ ಸುಮಾ ಮಂಜುನಾಥ್ ಗೀತಾ ನಾಗರಾಜ್', 'ಗೌಡ ರಾವ್ ಹೆಗಡೆ ಶೆಟ್ಟಿ ಭಟ್'),
  names('ਗੁਰਪ੍ਰੀਤ ਹਰਜੀਤ ਸਿਮਰਨ ਮਨਪ੍ਰੀਤ ਬਲਵਿੰਦਰ', 'ਸਿੰਘ ਕੌਰ ਗਿੱਲ ਸੰਧੂ'),
];

function newPatient(random: Random): Patient {
  const { first, last } = random.chance(0.6) ? latin : random.pick(otherScripts);
  return {
    'patient-1': personId(random),
    'patient_name-1': `${random.pick(first)} ${random.pick(last)}`,
    // No Indian mobile number begins with 5.
    'patient_phone-1': `+915${random.text(9, digits)}`,
    'partner_patient_id-1': hexId(random),
    'abha_name-1': `sample.${random.text(10, digits)}`,
    'abha_number-1': [2, 4, 4, 4].map((length) => random.text(length, digits)).join('-'),
  };
}

const patientsOfPractice = 60;

export function newPractice(random: Random, businessId: string): Practice {
  return {
    businessId,
    name: 'Sunrise Clinics',
    doctors: clinics.flatMap(({ doctors, ...clinic }) => {
      const withId = { ...clinic, id: hexId(random) };
      return doctors.map((name) => ({ id: personId(random), name, clinic: withId }));
    }),
    patients: Array.from({ length: patientsOfPractice }, () => newPatient(random)),
    nextNumber: random.between(1, 5_000),
    nextReceipt: random.between(1_000, 3_000),
  };
}

/** As the platform's directory has them. */
export function directoryOf({ businessId, name, doctors }: Practice) {
  const places = new Map(doctors.map(({ clinic }) => [clinic.id, clinic.name]));
  return [
    { kind: 'business', id: businessId, alias: name } as const,
    ...Array.from(places, ([id, alias]) => ({ kind: 'clinic', id, alias }) as const),
    ...doctors.map(({ id, name: alias }) => ({ kind: 'doctor', id, alias }) as const),
  ];
}
