import type { Patient } from '../../privacy/find-deliveries.ts';
import { findPatient } from '../../search/record.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { BadInput, PageNotFound } from '../errors.ts';
import { readForm, text } from '../read-form.ts';

const fields = { patient: text, family: text, record: text, business: text };

/** The patient that a form means: by id, or by a record that names one. @throws BadInput, PageNotFound */
export async function readPatient(
  { db, families }: Pick<RouteDependencies, 'db' | 'families'>,
  form: Record<string, unknown>,
): Promise<Patient> {
  const { patient, family: name, record, business } = readForm(form, fields).data;
  const family = families.find((one) => one.name === name);
  const named =
    family && record
      ? [await findPatient(db, { family, business: business ?? '', id: record })]
      : patient?.split(',');
  const [id, ...linked] = named?.flatMap((one) => one?.trim() || []) ?? [];
  if (!id && family) throw new PageNotFound('This record names no patient.');
  if (!id) throw new BadInput('Enter the id of a patient.');
  return { id, businessId: business, linked };
}
