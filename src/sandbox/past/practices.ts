import { type Clinic, hexId, personId } from '../clinic.ts';
import type { Random } from '../random.ts';
import { patientsOf } from './patients.ts';

interface Doctor {
  readonly name: string;
  /** The price of a consultation, in rupees. */
  readonly fee: number;
  /** On an average day. */
  readonly visits: number;
  /** By how much of them the visits change in the last three months: -0.8 leaves a fifth. */
  readonly trend?: number;
}

interface Description {
  readonly business: string;
  /** Sends nothing more in the last weeks. */
  readonly fallsSilent?: boolean;
  readonly clinics: readonly {
    readonly name: string;
    /** Before the printed numbers of receipts. */
    readonly series: string;
    /** A hospital: per week. */
    readonly admissions?: number;
    readonly doctors: readonly Doctor[];
  }[];
}

const descriptions: readonly Description[] = [
  {
    business: 'Sunrise Clinics',
    clinics: [
      {
        name: 'Sunrise Indiranagar',
        series: 'IN',
        doctors: [
          { name: 'Dr. Joseph', fee: 500, visits: 6 },
          { name: 'Dr. Iyer', fee: 700, visits: 4 },
          { name: 'Dr. Khan', fee: 900, visits: 3 },
        ],
      },
      {
        name: 'Sunrise Koramangala',
        series: 'KO',
        doctors: [
          { name: 'Dr. Rao', fee: 600, visits: 5 },
          { name: 'Dr. Menon', fee: 1000, visits: 4, trend: -0.8 },
        ],
      },
      {
        name: 'Sunrise Jayanagar',
        series: 'JA',
        doctors: [
          { name: 'Dr. Gupta', fee: 500, visits: 4 },
          { name: 'Dr. Thomas', fee: 700, visits: 2, trend: 1 },
        ],
      },
    ],
  },
  {
    business: 'Lakeside Hospital',
    clinics: [
      {
        name: 'Lakeside Hospital',
        series: 'LH',
        admissions: 4,
        doctors: [
          { name: 'Dr. Nair', fee: 1200, visits: 2.5 },
          { name: 'Dr. Banerjee', fee: 800, visits: 3, trend: 0.2 },
        ],
      },
    ],
  },
  {
    business: 'Green Leaf Clinic',
    fallsSilent: true,
    clinics: [
      { name: 'Green Leaf Clinic', series: 'GL', doctors: [{ name: "Dr. D'Souza", fee: 400, visits: 3 }] },
    ],
  },
];

export type Practice = ReturnType<typeof newPractices>[number];

/** The businesses of a past: the ids are drawn, the names are always the same. */
export function newPractices(random: Random) {
  return descriptions.map(({ business, fallsSilent = false, clinics }) => {
    const businessId = personId(random);
    return {
      businessId,
      name: business,
      fallsSilent,
      nextReceipt: random.between(1_000, 5_000),
      patients: patientsOf(random),
      clinics: clinics.map(({ name, series, admissions = 0, doctors }) => {
        const staff = doctors.map((doctor) => ({ ...doctor, id: personId(random) }));
        const ids = { businessId, clinicId: hexId(random), doctors: staff.map(({ id }) => id) };
        // Its receipts are numbered with those of the whole business, and on paper with those of its series.
        const clinic: Clinic = { ...ids, nextReceipt: 0, lastPracticeChange: 0 };
        return { clinic, name, series, nextPrinted: random.between(100, 900), admissions, doctors: staff };
      }),
    };
  });
}

/** The names of a past's ids, as `receiver aliases import` reads them. */
export function aliasesOf(practices: readonly Practice[]): string {
  const rows = practices.flatMap(({ businessId, name, clinics }) => [
    ['business', businessId, name],
    ...clinics.flatMap(({ clinic, name, doctors }) => [
      ['clinic', clinic.clinicId, name],
      ...doctors.map((doctor) => ['doctor', doctor.id, doctor.name]),
    ]),
  ]);
  return `${[['kind', 'id', 'alias'], ...rows].map((row) => row.join(',')).join('\n')}\n`;
}
