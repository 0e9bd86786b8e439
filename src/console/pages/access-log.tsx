import { subjectsInLog } from '../../privacy/audit.ts';
import { subjectsLike } from '../../privacy/patient.ts';
import { BadInput, type Page } from '../page.ts';
import { patientHandle } from '../patient-handle.ts';
import { readForm, text } from '../read-form.ts';
import { hrefTo } from '../ui/context.ts';
import { Field, PostForm } from '../ui/forms.tsx';

/** Who has seen a patient. The list is one of lists/definitions.ts. */
export const accessLog: Page = (routes, { config, read }) => {
  // Posted, so that the id of a patient is in no address.
  routes.post('/access-log', 'privacy', async (req, res) => {
    const { patient } = readForm(req.body, { patient: text });
    if (!patient) throw new BadInput('Enter the id of a patient.');
    // An id that each business may use for another patient stands for many subjects.
    const subjects = await read(async (db) => subjectsInLog(db, await subjectsLike(db, patient)));
    res.redirect(303, hrefTo('/access-log', { patient: patientHandle(config, subjects) }));
  });
};

export function AboveLog() {
  return (
    <PostForm action={hrefTo('/access-log')} least="privacy" label="Who has seen a patient" class="actions">
      <Field name="patient" label="Who has seen the patient with this id?" required autocomplete="off" />
      <button type="submit">Find</button>
    </PostForm>
  );
}
