const spellings = ['patient_oid', 'patientid', 'patient_id'];

/** The ids of patients in the data of a callback, or in a row of a family's table. */
export function patientsIn(values: object): string[] {
  return Object.entries(values)
    .filter(([name, value]) => spellings.includes(name) && value !== null && value !== '')
    .map(([, value]) => String(value));
}
