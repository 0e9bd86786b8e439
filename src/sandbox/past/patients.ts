import { newPatient } from '../clinic.ts';
import type { Random } from '../random.ts';

const firstNames =
  'Aarav Aditi Ananya Arjun Deepa Divya Farhan Gurpreet Imran Kavita Lakshmi Maria Meera Mohan Neha Pooja Rahul Rohan Sunita Suresh Vikram Zara'.split(
    ' ',
  );
const lastNames =
  'Sharma Patel Reddy Nair Iyer Das Singh Khan Fernandes Kulkarni Gowda Joshi Mehta Pillai Bose Verma Chauhan Rao'.split(
    ' ',
  );
const inTheirScript = ['आशा शर्मा', 'ரவி முருகன்', 'కవిత రెడ్డి', 'অনিতা সেন', 'عائشہ خان', 'ಸುಮಾ ಗೌಡ'];

/** Most patients have been there before, most of these not long ago. */
const shareReturning = 0.62;
const recent = 600;

export interface Patient extends ReturnType<typeof newPatient> {
  /** The day of the last visit. */
  lastDay?: number;
}

/** The patients of one business. */
export function patientsOf(random: Random) {
  const known: Patient[] = [];

  /** Relatives have the same surname and the same phone. */
  function register(): Patient {
    const relative = known.length > 0 && random.chance(0.1) ? random.pick(known) : undefined;
    const surname = relative?.name.split(' ')[1] ?? random.pick(lastNames);
    const name = random.chance(0.06) ? random.pick(inTheirScript) : `${random.pick(firstNames)} ${surname}`;
    const patient = { ...newPatient(random), name, ...(relative && { mobile: relative.mobile }) };
    known.push(patient);
    return patient;
  }

  return {
    /** Who comes on a day: a new patient, or one who has not been there for a few days. */
    next(day: number): Patient {
      const from = random.chance(0.7) ? Math.max(0, known.length - recent) : 0;
      const returning =
        known.length > 20 && random.chance(shareReturning)
          ? known[random.between(from, known.length - 1)]
          : undefined;
      const patient = returning && day - (returning.lastDay ?? 0) >= 3 ? returning : register();
      patient.lastDay = day;
      return patient;
    },
  };
}
