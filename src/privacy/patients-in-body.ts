const patients = /"(?:patient_oid|patientid|patient_id)"\s*:\s*("(?:[^"\\]|\\.)*"|\d+)/g;

/** The patients that a body names, in any of the three spellings. The body may be of any form. */
export function patientsInBody(body: Buffer): string[] {
  const ids = Array.from(body.toString().matchAll(patients), ([, id]) => unquote(id!));
  // PostgreSQL's text refuses U+0000.
  return [...new Set(ids)].filter((id) => id !== '' && !id.includes('\0'));
}

function unquote(text: string): string {
  try {
    return String(text.startsWith('"') ? JSON.parse(text) : text);
  } catch {
    return text.slice(1, -1);
  }
}
